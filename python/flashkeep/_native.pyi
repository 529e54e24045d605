from collections.abc import Callable, Sequence
from typing import Any

__version__: str

def names(list: str) -> list[str]:
    """The names of a list of ``flashkeep list``: schemes, drives, traces, generators, ..."""

def run(
    name: str,
    text: str | None,
    threads: int | None,
    progress: Any,
    log: str | None = None,
    gc: Callable[[Candidates], int | None] | None = None,
    ecc: tuple[Callable[[int, int], int], Callable[[PageRead], object] | None, int] | None = None,
) -> Run: ...
def command(words: list[str]) -> int:
    """Does what a command line says; gives the exit code. Once in a process."""

def settings(path: str) -> list[tuple[str, str, str, str, str]]:
    """Settings at a path and below it: key, meaning, kind, what is valid, default."""

def colours(schemes: list[str]) -> list[str]:
    """The colours that reports give to schemes."""

def curve_colour(number: int) -> str:
    """The colour that reports give to a curve."""

def interval(values: list[float]) -> tuple[float, float] | None:
    """Mean and half-width of its 95 % confidence interval; nothing of fewer than two values."""

def study(name: str, options: list[tuple[str, str]]) -> str: ...

class Frame:
    """Rows and typed columns. ``polars.DataFrame(frame)``, ``pyarrow.table(frame)`` and
    ``pandas.DataFrame.from_arrow(frame)`` take them as they lie in memory."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""

    @property
    def types(self) -> dict[str, str]:
        """What the values of each column are: text, whole number, number or truth value; any may be missing."""

    @property
    def repetitions(self) -> Frame | None:
        """The rows of each seed that these rows are made of; None where runs of a sweep were not repeated."""

    def _repr_html_(self) -> str: ...
    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> list[Any]:
        """The values of a column."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
    def filter(self, **wanted: Any) -> Frame:
        """The rows whose columns have these values, or, where a list, tuple or set is given, one of them:
        ``frame.filter(scheme="raid5", seed=[1, 2])``."""

    def to_polars(self) -> Any:
        """The rows as a frame of polars."""

    def to_pandas(self) -> Any:
        """The rows as a frame of pandas."""

    def to_parquet(self) -> bytes:
        """The rows as a Parquet file, the same that ``flashkeep sweep`` writes."""

class Candidates:
    """The full blocks (or superblocks) that garbage collection chooses from: a list for each property."""

    @property
    def valid(self) -> list[int]:
        """Pages of each that are still valid and would move."""

    @property
    def slots(self) -> list[int]:
        """Pages that each can hold."""

    @property
    def age(self) -> list[int]:
        """How many blocks of the log were filled since each."""

    @property
    def pe(self) -> list[int]:
        """P/E cycles of each."""

    @property
    def gains(self) -> list[bool]:
        """Whether collecting it gains room."""

    def __len__(self) -> int: ...

class PageRead:
    """A page that was read and decoded."""

    @property
    def page(self) -> int:
        """Number of the page."""

    @property
    def t(self) -> int:
        """Bits that each of its codewords corrects."""

    @property
    def pe(self) -> int:
        """P/E cycles of its block."""

    @property
    def hours(self) -> float:
        """Hours since it was programmed."""

    @property
    def codewords(self) -> int:
        """Codewords that were decoded."""

    @property
    def errors(self) -> int:
        """Errors that were corrected in them."""

    @property
    def failed(self) -> int:
        """Codewords that could not be decoded."""

class Run:
    @property
    def passed(self) -> bool: ...
    def json(self) -> str: ...
    def text(self) -> str: ...
    def frame(self) -> Frame: ...
    def repetitions(self) -> Frame | None: ...
    def intervals(self) -> Frame | None: ...
    def differences(self) -> Frame | None: ...
    def series(self) -> Frame: ...
    def report(self, directory: str) -> str: ...

def grid_text(path: str) -> str: ...

class Grid:
    def __init__(
        self,
        name: str,
        text: str,
        directory: str,
        seeds: int | None = None,
        beside: tuple[str, bool, bool] | None = None,
        gc: Sequence[tuple[str, Callable[[Candidates], int | None]]] = (),
        ecc: Sequence[tuple[str, tuple[Any, Any, int]]] = (),
    ) -> None: ...
    def __len__(self) -> int: ...
    def groups(self, runs: list[int]) -> list[Group]: ...
    def frame(self, parts: list[str]) -> Frame: ...

class Group:
    @property
    def runs(self) -> list[int]: ...
    def part(self, run: int) -> str: ...

class Directory:
    def __init__(self, path: str, grid: Grid) -> None: ...
    def missing(self) -> list[int]: ...
    def keep(self, part: str) -> None: ...
    def merge(self) -> Frame: ...

class Campaign:
    def __init__(
        self,
        scenarios: int,
        seed: int,
        piece: int,
        schemes: list[str],
        faults: list[str],
        draws: str,
        beyond_promise: bool,
        without: str | None,
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def scenarios(self) -> int: ...
    def scenarios_of(self, piece: int) -> int: ...
    def part(self, piece: int) -> str: ...
    def merged(self, parts: list[str]) -> Tortured: ...

class CampaignDirectory:
    def __init__(self, path: str, campaign: Campaign) -> None: ...
    def missing(self) -> list[int]: ...
    def keep(self, part: str) -> None: ...
    def merge(self) -> Tortured: ...

class Tortured:
    def frame(self) -> Frame: ...
    def violations(self) -> Frame: ...
    def text(self) -> str: ...
    def command(self, scenario: int) -> str: ...

class Snapshot: ...

class Disk:
    def __init__(self, name: str, text: str | None, path: str | None = None, filled: bool = False) -> None: ...
    @property
    def settings(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def page_size(self) -> int: ...
    @property
    def time(self) -> float: ...
    @property
    def first_mismatch(self) -> str | None: ...
    def read(self, offset: int, size: int) -> bytes: ...
    def write(self, offset: int, data: bytes, fua: bool) -> None: ...
    def flush(self) -> None: ...
    def discard(self, offset: int, size: int) -> None: ...
    def submit_read(self, offset: int, size: int) -> int: ...
    def submit_write(self, offset: int, data: bytes, fua: bool) -> int: ...
    def submit_flush(self) -> int: ...
    def run(self, all: bool) -> list[tuple[int, bytes | None, str | None, float]]: ...
    def kill(self, what: str, number: int) -> None: ...
    def cut_power(self) -> list[tuple[int, bytes | None, str | None, float]]: ...
    def age(self, time: str) -> None: ...
    def idle(self, time: str) -> None: ...
    def wear(self, cycles: int) -> None: ...
    def silent(self, chance: float) -> None: ...
    def temperature(self, celsius: float) -> None: ...
    def slow(self, die: int, factor: float) -> None: ...
    def pause(self, time: str) -> None: ...
    def schedule(self, name: str, text: str) -> None: ...
    def happened(self) -> list[tuple[float, int, str, str | None]]: ...
    def snapshot(self, name: str) -> Snapshot: ...
    def restore(self, snapshot: Snapshot) -> None: ...
    def status(self) -> str: ...
