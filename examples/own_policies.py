"""A policy of garbage collection and one of page ECC, written in Python: python examples/own_policies.py.

They are for experiments that need not be fast; docs/python.md says what a question costs.
"""

import flashkeep as fk


def emptiest_of_the_older_half(candidates: fk.Candidates) -> int | None:
    """Of the blocks that gain room, and were filled before most others, the one with the fewest valid pages."""
    places = [place for place, gains in enumerate(candidates.gains) if gains]
    older = sorted(places, key=lambda place: -candidates.age[place])[: (len(places) + 1) // 2]
    return min(older, key=lambda place: candidates.valid[place], default=None)


def stronger_with_age(page: int, pe: int) -> int:
    """Bits that each codeword corrects: 8 while the block is young, one more for each 100 P/E cycles."""
    return min(8 + pe // 100, 40)


def compare(policy, ecc) -> fk.Result:
    return fk.run(
        fk.Experiment(
            schemes=["none", "raid5"],
            drive=fk.Drive(preset="mlc-2014"),
            trace=fk.Workload(
                generator="zipf", requests=4000, range="16MiB", read_fraction=0.3, arrivals={"poisson": "2ms"}
            ),
            gc=fk.Gc(policy=policy),
            ecc=fk.Ecc(policy=ecc, options={"fixed": {"t": 40}}),
            age=fk.Age(pe_cycles=1000, retention="30d"),
            errors=fk.Errors(model="flares"),
        )
    )


mine = compare(emptiest_of_the_older_half, fk.PageEcc(program=stronger_with_age, strongest=40))
usual = compare("greedy", "fixed")
for scheme in mine.schemes:
    waf = [result.of(scheme)["waf"] for result in (mine, usual)]
    read = [result.of(scheme)["read_latency_us_mean"] for result in (mine, usual)]
    print(f"{scheme}: write amplification {waf[0]:.2f} instead of {waf[1]:.2f},", end=" ")
    print(f"mean read {read[0]:.0f} us instead of {read[1]:.0f} us")
