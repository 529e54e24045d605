"""Experiments as frozen dataclasses. A field that is None is left to the engine's default; the
names are those of experiment files. ``help`` of a class has what the engine says of its fields: meaning, unit, default."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Union

from flashkeep import _toml
from flashkeep._documented import documented
from flashkeep.errors import BadInput
from flashkeep.policies import Collect, PageEcc, named

#: A size such as ``"16KiB"`` or ``"5GB"``.
Size = str
#: A time such as ``"25us"``, ``"1.6ms"`` or ``"30d"``.
Time = str
PathText = Union[str, "os.PathLike[str]"]
#: Settings by name.
Settings = Mapping[str, Any]


@documented("drive.geometry")
@dataclass(frozen=True, kw_only=True)
class Geometry:
    """The shape of a drive."""

    channels: int | None = None
    dies_per_channel: int | None = None
    planes: int | None = None
    plane_use: str | None = None
    blocks_per_plane: int | None = None
    pages_per_block: int | None = None
    page_size: Size | None = None
    oob_size: Size | None = None
    slot_size: Size | None = None


@documented("drive.energy")
@dataclass(frozen=True, kw_only=True)
class Energy:
    """Energy of each operation, as ``"3uJ"``."""

    read: str | None = None
    program: str | None = None
    erase: str | None = None


@documented("drive")
@dataclass(frozen=True, kw_only=True)
class Drive:
    """A preset (``names("drives")``) or drive file, and what differs from it."""

    preset: PathText | None = None
    name: str | None = None
    summary: str | None = None
    source: str | None = None
    endurance: int | None = None
    geometry: Geometry | None = None
    energy: Energy | None = None
    timing: Settings | None = None
    controller: Settings | None = None
    slc: Settings | None = None


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """A protection scheme (``names("schemes")``), its options, and its own ECC policy, if any.

    The name may have additions behind it (``names("additions")``): ``"ds-raid+limits"``. Their options are settings of the
    experiment, under ``scheme.limits``.
    """

    name: str
    ecc: str | None = None
    options: Settings = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Its name in results, unless the experiment has a scheme of this name more than once with other options."""
        return self.name if self.ecc is None else f"{self.name}+{self.ecc}"

    @property
    def full_label(self) -> str:
        """Its name in results then: ``raid5:data_strips=7``."""
        options = {
            name: str(value).lower() if isinstance(value, bool) else value for name, value in self.options.items()
        }
        return ":".join([self.label, *(f"{name}={value}" for name, value in options.items())])


@documented("trace")
@dataclass(frozen=True, kw_only=True)
class Trace:
    """A bundled trace (``names("traces")``), or the path of one."""

    source: PathText
    format: str | None = None
    blk_action: str | None = None
    loops: int | None = None
    arrival: str | None = None
    addresses: str | None = None
    max_gap: Time | None = None
    keep_writes: float | None = None
    device: int | None = None
    since: Time | None = None
    until: Time | None = None
    skip: int | None = None
    first: int | None = None
    then: Sequence[PathText] | None = None
    beside: Sequence[PathText] | None = None
    ranges: str | None = None
    order: str | None = None
    columns: str | None = None
    flows: str | None = None

    def settings(self) -> dict[str, Any]:
        """Sections of the experiment."""
        return {"trace": _plain(self)}


@documented("generate", "trace", generator="Its name; the default trace is a recording.")
@dataclass(frozen=True, kw_only=True)
class Workload:
    """A generated workload (``names("generators")``)."""

    generator: str
    requests: int | None = None
    range: Size | None = None
    read_fraction: float | None = None
    request_size: Size | None = None
    sizes: Sequence[tuple[Size, float]] | None = None
    theta: float | None = None
    sequential: float | None = None
    hot_pages: float | None = None
    hot_requests: float | None = None
    placement: str | None = None
    streams: int | None = None
    mobile: Mapping[str, float | Size] | None = None
    arrivals: str | Mapping[str, Time] | None = None
    loops: int | None = None
    arrival: str | None = None
    addresses: str | None = None
    max_gap: Time | None = None
    keep_writes: float | None = None

    def settings(self) -> dict[str, Any]:
        """Sections of the experiment."""
        generate = _plain(self)
        trace = {"source": generate.pop("generator")}
        of_trace = ("loops", "arrival", "addresses", "max_gap", "keep_writes")
        trace.update({key: generate.pop(key) for key in of_trace if key in generate})
        return {"trace": trace, "generate": generate}


@dataclass(frozen=True, kw_only=True)
class Flow:
    """One of several generators that share the drive, with a queue or times of its own."""

    #: What results call it.
    name: str
    #: Its generator.
    generator: str
    #: Requests of it that are unanswered at most; none: they come at the times that ``arrivals`` of ``generate`` says.
    depth: int | None = None
    #: It ends at this time behind its first request, or with ``requests`` of ``generate``.
    until: Time | None = None
    #: Flows that name the same space share their addresses.
    space: str | None = None
    #: Options of the generator, as of :class:`Workload`.
    generate: Mapping[str, Any] = field(default_factory=dict)

    def settings(self) -> dict[str, Any]:
        """The table of the flow."""
        given = _plain(self, without=("generator", "generate"))
        given["source"] = self.generator
        if self.generate:
            given["generate"] = _plain(dict(self.generate))
        return given


@dataclass(frozen=True)
class Flows:
    """A workload of several generators, each with a clock of its own."""

    flows: tuple[Flow, ...]
    #: How requests of all of them arrive, in place of their own clocks: ``"closed=8"``, ``"scaled=2"``.
    arrival: str | None = None

    def __init__(self, *flows: Flow, arrival: str | None = None) -> None:
        object.__setattr__(self, "flows", flows)
        object.__setattr__(self, "arrival", arrival)

    def settings(self) -> dict[str, Any]:
        """Sections of the experiment."""
        given: dict[str, Any] = {"flow": [flow.settings() for flow in self.flows]}
        if self.arrival is not None:
            given["trace"] = {"arrival": self.arrival}
        return given


@documented("capacity")
@dataclass(frozen=True, kw_only=True)
class Capacity:
    """User capacity and over-provisioning."""

    size: Size | None = None
    #: A share of the user capacity such as 0.07, or of raw flash: "28% of raw".
    over_provisioning: float | str | None = None
    fairness: str | None = None


@documented("gc")
@dataclass(frozen=True, kw_only=True)
class Gc:
    """Garbage collection (``names("gc")``). ``policy`` may be a function of yours (:mod:`flashkeep.policies`)."""

    policy: str | Collect | None = None
    choices: int | None = None
    separate_write_pointer: bool | None = None
    free_blocks: int | None = None
    idle_free_blocks: int | None = None
    moves_in_flight: int | None = None
    occupies_die: bool | None = None
    moves_during_erase: bool | None = None
    streams: Mapping[str, int | str] | None = None


@documented("wear")
@dataclass(frozen=True, kw_only=True)
class Wear:
    """Wear levelling."""

    dynamic: bool | None = None
    static_threshold: int | None = None


@documented("buffer")
@dataclass(frozen=True, kw_only=True)
class Buffer:
    """Write buffer (``names("buffers")``)."""

    kind: str | None = None
    size: Size | None = None
    latency: Time | None = None


@documented("precondition")
@dataclass(frozen=True, kw_only=True)
class Precondition:
    """Write history before the workload."""

    fill: float | None = None
    working_set: float | None = None
    converge_within: float | None = None
    overwrite_at_most: float | None = None


@documented("age")
@dataclass(frozen=True, kw_only=True)
class Age:
    """Age before the workload."""

    pe_cycles: int | None = None
    pe_deviation: float | None = None
    worn_blocks: float | None = None
    worn_pe_cycles: int | None = None
    retention: Time | None = None
    reads: int | None = None
    bad_blocks: float | None = None


@documented("faults")
@dataclass(frozen=True, kw_only=True)
class Faults:
    """Faults during the workload."""

    dead_die: int | None = None
    dead_die_every: int | None = None
    dead_die_at_request: int | None = None
    replace_after: Time | None = None
    uncorrectable_reads: float | None = None
    wear_out: float | None = None
    silent: float | None = None
    rebuild: bool | None = None
    rebuild_at_once: int | None = None


@documented("errors")
@dataclass(frozen=True, kw_only=True)
class Errors:
    """Bit errors of the cells (``names("errors")``)."""

    model: str | None = None
    celsius: float | None = None
    reference_celsius: float | None = None
    activation_ev: float | None = None
    page_sigma: float | None = None
    block_sigma: float | None = None
    recharge_rber: float | None = None
    persistent: bool | None = None
    unaccelerated: float | None = None
    read_celsius: float | None = None
    program_celsius: float | None = None
    cross_shift: float | None = None
    stage_1_hours: float | None = None
    stage_6_hours: float | None = None


@documented("refresh")
@dataclass(frozen=True, kw_only=True)
class Refresh:
    """Refresh of old data."""

    policy: str | None = None
    uber: float | None = None
    at_share: float | None = None
    in_place_at_most: int | None = None


@documented("ecc")
@dataclass(frozen=True, kw_only=True)
class Ecc:
    """Page ECC (``names("ecc")``); options by policy. ``policy`` may be a :class:`PageEcc` of yours."""

    policy: str | PageEcc | None = None
    codeword: str | None = None
    codec: str | None = None
    codec_microwatt: int | None = None
    flush: Time | None = None
    read_retry: str | None = None
    retries: int | None = None
    soft_bits: int | None = None
    prediction_sigma: float | None = None
    options: Mapping[str, Settings] | None = None


@documented("", settings="Any setting by its dotted name; laid upon the rest.")
@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Everything a run depends on. ``settings`` are laid upon the rest: any setting by its dotted
    name, such as ``{"gc.policy": "fifo"}``."""

    schemes: Sequence[Scheme | str] | None = None
    trace: Trace | Workload | Flows | None = None
    drive: Drive | None = None
    capacity: Capacity | None = None
    gc: Gc | None = None
    wear: Wear | None = None
    buffer: Buffer | None = None
    precondition: Precondition | None = None
    age: Age | None = None
    faults: Faults | None = None
    errors: Errors | None = None
    refresh: Refresh | None = None
    ecc: Ecc | None = None
    seed: int | None = None
    #: Repetitions, each with a seed of its own: ``seed`` and those that follow it.
    seeds: int | None = None
    payload: str | None = None
    scheduler: str | None = None
    #: How much of the workload is replayed before it is measured: ``"auto"``, ``"none"``, a number of requests, or a time.
    warmup: str | int | None = None
    #: Whether each flow of a workload of several also runs alone: slowdown and fairness.
    alone: bool | None = None
    settings: Settings = field(default_factory=dict)

    def to_settings(self) -> dict[str, Any]:
        """The settings as nested tables."""
        given: dict[str, Any] = _plain(self, without=("schemes", "trace", "settings"))
        if self.schemes is not None:
            given.update(_schemes(self.schemes))
        if self.trace is not None:
            given.update(self.trace.settings())
        for path, value in self.settings.items():
            _put(given, path, _plain(value))
        return given

    def to_toml(self) -> str:
        """The experiment file that ``flashkeep run`` takes. It can run no policy of yours: it has the name alone."""
        return _toml.dumps(self.to_settings())

    @property
    def own_gc(self) -> Collect | None:
        """The policy of garbage collection, if it is a function of yours."""
        policy = self.gc.policy if self.gc is not None else None
        return None if isinstance(policy, str) or not self._asks_for("gc", policy) else policy

    @property
    def own_ecc(self) -> PageEcc | None:
        """The policy of page ECC, if it is one of yours."""
        policy = self.ecc.policy if self.ecc is not None else None
        return None if isinstance(policy, str) or not self._asks_for("ecc", policy) else policy

    def _asks_for(self, section: str, policy: Any) -> bool:
        """Whether a policy is what the settings name in the end: ``settings`` are laid upon the rest."""
        return bool(self.to_settings().get(section, {}).get("policy") == named(policy))


@dataclass(frozen=True, kw_only=True)
class Axis:
    """Axis of a grid: a setting (``key``) over ``values``, or ``name`` over ``points``, each a
    label with the settings it stands for, by dotted name."""

    key: str | None = None
    values: Sequence[Any] | None = None
    name: str | None = None
    points: Mapping[str, Settings] | None = None

    def to_settings(self) -> dict[str, Any]:
        """The axis as a table of ``sweep.axes``."""
        given: dict[str, Any] = _plain(self, without=("points", "values"))
        if self.values is not None:
            given["values"] = [_plain(_value(self.key, value)) for value in self.values]
        if self.points is not None:
            given["points"] = [{"value": label, "set": _nested(point)} for label, point in self.points.items()]
        return given

    def _policies(self) -> Iterator[tuple[str, Any]]:
        """Its values of settings that may be policies of yours, by setting."""
        if self.key in _OWN:
            yield from ((self.key, value) for value in self.values or ())
        for point in (self.points or {}).values():
            yield from ((key, point[key]) for key in _OWN if key in point)


@dataclass(frozen=True, kw_only=True)
class Grid:
    """An experiment over all combinations of axes, the last one changing fastest."""

    experiment: Experiment
    axes: Sequence[Axis]

    def to_toml(self) -> str:
        """The grid file that ``flashkeep sweep`` takes. It can run no policy of yours: it has the name alone."""
        axes = [axis.to_settings() for axis in self.axes]
        return _toml.dumps({**self.experiment.to_settings(), "sweep": {"axes": axes}})

    @property
    def own_policies(self) -> dict[str, dict[str, Any]]:
        """The policies that are functions of yours, of experiment and axes: by setting (``gc.policy``, ``ecc.policy``)
        and by the names that experiments have for them."""
        experiment = [("gc.policy", self.experiment.own_gc), ("ecc.policy", self.experiment.own_ecc)]
        own: dict[str, dict[str, Any]] = {key: {} for key in _OWN}
        for key, policy in [*experiment, *(found for axis in self.axes for found in axis._policies())]:
            if policy is None or isinstance(policy, str):
                continue
            if own[key].setdefault(named(policy), policy) != policy:
                raise BadInput(f"{key}: two policies are called {named(policy)}", field=key)
        return own


#: Settings that may be policies of yours.
_OWN = ("gc.policy", "ecc.policy")


def _value(key: str | None, value: Any) -> Any:
    """Form of the value of a setting in a file."""
    return named(value) if key in _OWN else value


def _short(settings: Any) -> str:
    """The given settings, without the others."""
    given = ((f.name, getattr(settings, f.name)) for f in fields(settings))
    told = ", ".join(f"{name}={value!r}" for name, value in given if value is not None and value != {})
    return f"{type(settings).__name__}({told})"


for _settings in [one for one in globals().values() if is_dataclass(one) and isinstance(one, type)]:
    _settings.__repr__ = _short  # type: ignore[method-assign]


def _plain(value: Any, without: Sequence[str] = ()) -> Any:
    """Dataclasses as tables of what is given, paths as texts."""
    if is_dataclass(value) and not isinstance(value, type):
        given = ((f.name, getattr(value, f.name)) for f in fields(value) if f.name not in without)
        return {name: _plain(named(inner) if name == "policy" else inner) for name, inner in given if inner is not None}
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value


def _schemes(schemes: Sequence[Scheme | str]) -> dict[str, Any]:
    if isinstance(schemes, str):
        raise BadInput(f"schemes: found the text {schemes!r}, wanted a list of schemes", field="schemes")
    labels = [scheme.label if isinstance(scheme, Scheme) else scheme for scheme in schemes]
    given: dict[str, list[dict[str, Any]]] = {}
    for scheme in schemes:
        if isinstance(scheme, Scheme) and scheme.options:
            given.setdefault(_base(scheme), []).append(_plain(scheme.options))
    # One set of options is that of all of the name; where there are several, each scheme says its own in its label.
    several = {name for name, sets in given.items() if any(options != sets[0] for options in sets)}
    several |= {
        _base(scheme) for scheme, label in zip(schemes, labels) if _base(scheme) in given and labels.count(label) > 1
    }
    spelled = [
        scheme.full_label if isinstance(scheme, Scheme) and _base(scheme) in several else label
        for scheme, label in zip(schemes, labels)
    ]
    options = {name: sets[0] for name, sets in given.items() if name not in several}
    return {"schemes": spelled, **({"scheme": options} if options else {})}


def _base(scheme: Scheme | str) -> str:
    """The scheme without its additions, ECC policy and options."""
    name = scheme.name if isinstance(scheme, Scheme) else scheme
    return name.split(":")[0].split("+")[0]


def _nested(settings: Settings) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for path, value in settings.items():
        _put(nested, path, _plain(_value(path, value)))
    return nested


def _put(settings: dict[str, Any], path: str, value: Any) -> None:
    """Sets a dotted path, making tables on the way."""
    *parents, last = path.split(".")
    for parent in parents:
        settings = settings.setdefault(parent, {})
        if not isinstance(settings, dict):
            raise BadInput(f"{path}: `{parent}` has no settings inside", field=path)
    settings[last] = value
