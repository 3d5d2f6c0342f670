"""What a suite declares: its candidates and datasets, as the conftests above a test give them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from .candidates import Candidate, Price
from .datasets import Dataset, DatasetSlice
from .datasets.places import starting_at
from .errors import DataError, DeclarationError, ProcureError, unknown
from .isolation.declared import HERE, Isolation, isolation_of

_CANDIDATES = "pytest_procure_candidates"
_DATASETS = "pytest_procure_datasets"


@dataclass(frozen=True, eq=False)
class Offer:
    """A candidate, the folder that its relative paths start from, and the process that it runs in."""

    candidate: Candidate
    base: Path
    isolation: Isolation = HERE


@dataclass(eq=False)
class Source:
    """A named dataset, made when first used."""

    name: str
    given: Dataset | Callable[[], Dataset]
    made: Dataset | None = None
    base: Path | None = None  # that relative paths start from

    @property
    def known(self) -> Dataset | None:
        """The dataset where it is there already; None where it is still to be made."""
        return self.given if isinstance(self.given, Dataset) else self.made

    def dataset(self) -> Dataset:
        """Give the dataset. What the suite's own callable raises becomes a `DataError`."""
        if self.made is None:
            made = self.given if isinstance(self.given, Dataset) else self._call(self.given)
            if not isinstance(made, Dataset):
                raise DataError(f"dataset `{self.name}` is {type(made).__name__}; expected a `Dataset`")
            self.made = made
        return self.made

    def _call(self, make: Callable[[], Dataset]) -> Dataset:
        try:
            with starting_at(self.base or Path()):
                return make()
        except ProcureError:
            raise
        except Exception as error:
            raise DataError(
                f"dataset `{self.name}` could not be made: {type(error).__name__}: {error}"
            ) from error


@dataclass(frozen=True, eq=False)
class SliceAsked:
    """Which slice of which dataset a test asks for."""

    source: Source
    rule: Mapping[str, Any]

    def choose(self, dataset: object) -> DatasetSlice:
        """Make the slice of `dataset`, which may be the suite's own; `DataError` if it cannot be made."""
        if not isinstance(dataset, Dataset):
            raise DataError(f"the `dataset` fixture gave {type(dataset).__name__}; expected a `Dataset`")
        return dataset.slice(**self.rule)


class Suite:
    """The declarations of a session, asked for once a set of conftests and kept, so that identity holds."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._offers: dict[tuple[int, ...], list[Offer]] = {}
        self._sources: dict[tuple[int, ...], dict[str, Source]] = {}
        self._slices: dict[tuple[int, str], SliceAsked] = {}

    def offers(self, ihook: Any) -> list[Offer]:
        """List the candidates for tests below the conftests of `ihook`; the nearest one decides."""
        key = _key(ihook, _CANDIDATES)
        if key not in self._offers:
            declared = (self._checked(given, base) for given, base in self._declared(ihook, _CANDIDATES))
            self._offers[key] = self._apart(next(declared, []))
        return self._offers[key]

    def _apart(self, offers: list[Offer]) -> list[Offer]:
        """Give the same offers again where one conftest was asked twice; refuse one name for two offers."""
        for known in self._offers.values():
            names = {offer.candidate.name for offer in known} & {offer.candidate.name for offer in offers}
            if names and known[0].base == offers[0].base:
                return known
            if names:
                raise DeclarationError(
                    f"two conftests, in {known[0].base.name}/ and {offers[0].base.name}/, each declare a "
                    f"candidate `{min(names)}`; declare it once, above both, or rename one"
                )
        return offers

    def declares(self, ihook: Any) -> bool:
        """Whether a conftest above a test declares candidates."""
        return bool(getattr(ihook, _CANDIDATES).get_hookimpls())

    def holds(self, path: Path) -> bool:
        """Whether a file lies below a conftest that has declared candidates."""
        return any(offer.base in path.parents for offers in self._offers.values() for offer in offers)

    def offer(self, ihook: Any, name: str) -> Offer:
        """Find an offer by its candidate's name; `DeclarationError` with the nearest one if there is none."""
        offers = {offer.candidate.name: offer for offer in self.offers(ihook)}
        if name not in offers:
            raise DeclarationError(unknown("candidate", name, offers))
        return offers[name]

    def candidates(self) -> set[str]:
        """Name all candidates that tests have asked for so far."""
        return {offer.candidate.name for offers in self._offers.values() for offer in offers}

    def base(self, candidate: Candidate) -> Path:
        """Give the folder that a candidate's relative paths start from."""
        for offers in self._offers.values():
            for offer in offers:
                if offer.candidate is candidate:
                    return offer.base
        return self._config.rootpath

    def isolation(self, candidate: Candidate) -> Isolation:
        """Tell in which process a candidate runs. Raises `DeclarationError`."""
        return isolation_of(candidate, self._config.getini("procure_isolation"))

    def source(self, ihook: Any, name: str | None) -> Source:
        """Find a dataset by name; the name of the only one may be left out."""
        sources = self._all_sources(ihook)
        if name is not None and name not in sources:
            raise DeclarationError(unknown("dataset", name, sources))
        if name is not None:
            return sources[name]
        if len(sources) == 1:
            return next(iter(sources.values()))
        if not sources:
            raise DeclarationError(
                f"there is no dataset; return one from `{_DATASETS}` in the conftest beside the test"
            )
        raise DeclarationError(
            f"there are {len(sources)} datasets, so name one, as in `dataset_slice({min(sources)!r})`"
        )

    def asked(self, source: Source, rule: Mapping[str, Any]) -> SliceAsked:
        """Give one object for one slice, however many tests ask for it."""
        key = (id(source), repr(sorted(rule.items())))
        return self._slices.setdefault(key, SliceAsked(source, rule))

    def _all_sources(self, ihook: Any) -> dict[str, Source]:
        key = _key(ihook, _DATASETS)
        if key not in self._sources:
            found: dict[str, Source] = {}
            for given, base in self._declared(ihook, _DATASETS):
                if not isinstance(given, Mapping):
                    raise DeclarationError(f"`{_DATASETS}` gave {type(given).__name__}; expected a mapping")
                for name, dataset in given.items():
                    found.setdefault(name, self._shared(name, dataset, base))
            self._sources[key] = found
        return self._sources[key]

    def _shared(self, name: str, given: Any, base: Path) -> Source:
        """Keep one source a declaration, so that two folders share a dataset made above both."""
        if not (isinstance(given, Dataset) or callable(given)):
            raise DeclarationError(
                f"dataset `{name}` is {type(given).__name__}; expected a `Dataset` or what makes one"
            )
        known = (source for sources in self._sources.values() for source in sources.values())
        make = cast("Dataset | Callable[[], Dataset]", given)  # what it makes is checked when it is made
        return next((s for s in known if s.name == name and s.given is make), Source(name, make, base=base))

    def _declared(self, ihook: Any, hook: str) -> Iterator[tuple[Any, Path]]:
        """Ask each implementation by itself, the nearest conftest first: only so is its folder known."""
        manager = self._config.pluginmanager
        impls = getattr(ihook, hook).get_hookimpls()
        plugins = [impl.plugin for impl in reversed(impls)]
        everyone = {impl.plugin for impl in getattr(self._config.hook, hook).get_hookimpls()}
        for plugin in plugins:
            alone = manager.subset_hook_caller(hook, everyone - {plugin})
            file = getattr(plugin, "__file__", None)
            base = Path(file).parent if file else self._config.rootpath
            try:
                with starting_at(base):
                    answers = alone(config=self._config)
            except ProcureError as error:
                raise type(error)(f"{_place(file)}: {error}") from error
            except Exception as error:
                raise DeclarationError(f"`{hook}` raised {type(error).__name__}: {error}") from error
            for given in answers:
                yield given, base

    def _checked(self, given: Any, base: Path) -> list[Offer]:
        try:
            candidates = list(given)
        except TypeError:
            raise DeclarationError(
                f"`{_CANDIDATES}` gave {type(given).__name__}; expected a list of `Candidate`"
            ) from None
        names: set[str] = set()
        for candidate in candidates:
            if not isinstance(candidate, Candidate):
                raise DeclarationError(f"`{_CANDIDATES}` gave {candidate!r}; expected a `Candidate`")
            if candidate.name in names:
                raise DeclarationError(f"there are two candidates named `{candidate.name}`; rename one")
            _check_dates(candidate, dt.datetime.now(dt.UTC).date())
            names.add(candidate.name)
        return [Offer(candidate, base, self.isolation(candidate)) for candidate in candidates]


def _key(ihook: Any, hook: str) -> tuple[int, ...]:
    return tuple(id(impl.plugin) for impl in getattr(ihook, hook).get_hookimpls())


def _place(file: str | None) -> str:
    return Path(file).name if file else "a plugin"


def _check_dates(candidate: Candidate, today: dt.date) -> None:
    """Refuse a price that was read later than tomorrow, by a clock that may stand further east."""
    last = (today + dt.timedelta(days=1)).isoformat()
    for price in (candidate.price, *getattr(candidate.backend, "prices", ())):
        if isinstance(price, Price) and price.date > last:
            raise DeclarationError(
                f"`date={price.date!r}` of a price of candidate `{candidate.name}` is in the future; "
                "expected the day on which the price was read"
            )


def day_problems(key: str, written: str) -> list[str]:
    """Say what is wrong with a day of the ini: a report that is valid until `soon` would be read as valid."""
    try:
        if not written or dt.date.fromisoformat(written).isoformat() == written:
            return []
    except ValueError:
        pass
    return [f"ini key `procure_{key} = {written}`; expected a day, as in 2027-06-30"]
