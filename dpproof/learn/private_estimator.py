"""What all estimators share: reading rows, the budget, the ledger, and one paid fit."""

import contextlib
import functools
import inspect
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import Field, dataclass, replace
from functools import partial
from typing import Any, Final, Self, TypeAlias, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from dpproof.accountant import GDP, AddRemove, Guarantee, PrivacyFilter, Relation, calibrate
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError, PrivacyError
from dpproof.accountant.form import DataError, withholding
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.progress import at_work
from dpproof.ledger.ledger import Ledger
from dpproof.ledger.places import hidden
from dpproof.mechanisms import Mechanism
from dpproof.mechanisms.blocks import Blocks
from dpproof.mechanisms.learning.records import Matrix, csr_rows, is_sparse
from dpproof.proofs.certificate import Certificate

_REAL: Final = "fiub"  # Kinds of dtypes that are real numbers.


def read_rows(
    estimator: BaseEstimator, X: ArrayLike, *, fitting: bool, finite: bool = True
) -> Matrix:
    """Return the rows as float64, in C order; sparse if they are, and the estimator takes them."""
    # A fit reads any record, as an error would tell of it: a cell that is no number becomes nan.
    takes_sparse = estimator.__sklearn_tags__().input_tags.sparse
    rows: Matrix = sparse_matrix(X) if takes_sparse and is_sparse(X) else matrix(X)
    reset = fitting and not hasattr(estimator, "batches_")
    validate_data(
        estimator, X if hasattr(X, "columns") else rows, reset=reset, skip_check_array=True
    )
    blank = {"ensure_all_finite": False, "ensure_min_samples": 0} if fitting or not finite else {}
    return check_array(rows, estimator=estimator, input_name="X", accept_sparse="csr", **blank)


def in_blocks(estimator: BaseEstimator, X: Any, *columns: Any) -> Blocks:
    """Return rows in blocks, with their labels and weights, each block to be read by itself."""
    frame = len(getattr(X, "columns", ())) > 0
    array = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in _REAL and X.shape[1] > 0
    if frame or array or hasattr(X, "__dask_graph__"):
        validate_data(estimator, X, reset=True, skip_check_array=True)
        rows = X
    else:
        rows = read_rows(estimator, X, fitting=True)
    pairs = zip(("y", "sample_weight"), columns, strict=False)
    named = [(name, one) for name, one in pairs if one is not None or name == "y"]
    if not hasattr(X, "__dask_graph__"):
        named = [(name, read_labels(one, rows.shape[0], name)) for name, one in named]
    return Blocks.of(rows, *(one for _, one in named))


def sparse_matrix(X: Any) -> Matrix:
    """Return a sparse matrix as a CSR array of float64."""
    if X.dtype.kind not in _REAL:
        hint = "Complex data not supported" if X.dtype.kind == "c" else ""
        raise DataError("X", X, "of a dtype of real numbers", hint)
    return csr_rows(X)


def matrix(X: ArrayLike) -> NDArray[np.float64]:
    """Return a matrix as float64, in C order; a cell that is no number becomes nan."""
    if hasattr(X, "toarray"):
        raise DataError("X", X, "a dense matrix", "X.toarray() makes one of a sparse matrix")
    values = _floats(X, "X")
    if values.ndim != 2:
        hint = "Reshape your data: X.reshape(1, -1) is one record, X.reshape(-1, 1) one feature"
        raise DataError("X", values, "a matrix, one row a record", hint)
    return values


def read_labels(y: ArrayLike, rows: int, name: str = "y") -> NDArray[Any]:
    """Return labels or targets, shape (rows,), read one by one: text would change numbers."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    values = _array(y, name, None if hasattr(y, "dtype") else np.object_)
    if values.dtype.kind == "c":
        raise DataError(name, values, "labels or targets", "Complex data not supported")
    labels = column_or_1d(values, warn=True)
    if labels.shape != (rows,):
        raise ValueError(f"{name} has shape {labels.shape}, expected one value for {rows} rows")
    return np.asarray(labels)


def read_targets(y: ArrayLike, rows: int, name: str = "y") -> NDArray[np.float64]:
    """Return the targets as float64, shape (rows,); one that is no number becomes nan."""
    return _floats(read_labels(y, rows, name), name)


def _floats(cells: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return cells as float64: of an array of objects, and of a list, each cell by itself."""
    array = _array(cells, name)
    if array.dtype.kind not in _REAL and not hasattr(cells, "dtype"):
        array = _array(cells, name, np.object_)
    if array.dtype.kind == "O":
        numbers = [_number(cell) for cell in array.flat]
        return np.array(numbers, dtype=np.float64).reshape(array.shape)
    if array.dtype.kind not in _REAL:
        hint = "Complex data not supported" if array.dtype.kind == "c" else ""
        raise DataError(name, array, "of a dtype of real numbers", hint)
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype=np.float64)


def _array(cells: ArrayLike, name: str, dtype: type[Any] | None = None) -> NDArray[Any]:
    """Return cells as an array, ragged ones and mixed ones as one of objects."""
    for kind in (dtype, np.object_):
        with contextlib.suppress(ValueError, TypeError, OverflowError):
            return np.asarray(cells, dtype=kind)
    raise DataError(name, cells, "an array, or a list of rows")


def _number(cell: Any) -> float:
    """Return a cell as a float: infinite beyond floats, nan if it is no number."""
    try:
        return float(cell)
    except OverflowError:
        return np.inf
    except Exception:  # noqa: BLE001  # a record must not decide whether a fit raises
        return np.nan


def scored(score: Callable[..., float]) -> Callable[..., float]:
    """Let no error of scikit-learn's ``score`` quote a row or a target."""

    @functools.wraps(score)
    def guarded(
        model: BaseEstimator, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        check_is_fitted(model)
        shape = withholding(np.shape)(X)
        if len(shape) == 2 and shape[1] != model.n_features_in_:
            raise ValueError(  # in scikit-learn's words, which its own checks ask for
                f"X has {shape[1]} features, but {type(model).__name__} is expecting "
                f"{model.n_features_in_} features as input"
            )
        return withholding(score)(model, X, y, sample_weight)

    return guarded


def clipped_to_norm(rows: NDArray[np.float64], norm: float) -> NDArray[np.float64]:
    """Shorten every row that is longer than ``norm``; one that is not finite becomes nan."""
    # Sums along rows are made in one order only if the rows are contiguous, whatever they were.
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    finite = np.asarray(np.isfinite(rows).all(axis=1))
    kept = np.where(finite[:, np.newaxis], rows, 0.0)
    largest = np.abs(kept).max(axis=1, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    directions = kept / unit[:, np.newaxis]
    lengths = np.linalg.norm(directions, axis=1)
    with np.errstate(over="ignore"):
        longer = np.asarray(lengths * unit > norm)
    shortened = directions * (norm / np.maximum(lengths, 1.0))[:, np.newaxis]
    clipped = np.where(longer[:, np.newaxis], shortened, kept)
    return np.where(finite[:, np.newaxis], clipped, np.nan)


_SAID: Final = "fitted on data declared public"
# What is set is emptied at the end of the block: a task started inside keeps a copy of the context.
_PUBLIC: Final[ContextVar[Sequence[bool]]] = ContextVar("dpproof_public_data", default=())
N = TypeVar("N", bound=Guarantee)  # type: ignore[type-arg]  # of any relation


@final
class UnpaidTransformer(UserWarning):
    """A step beside a private estimator learns from the rows, and nothing pays for it."""


@contextmanager
def public_data() -> Iterator[None]:
    """Declare that all rows fitted in the block are public, so that searches may refit on them.

    ``GridSearchCV``, ``cross_val_score`` and their like run as for any estimator. A model that is
    fitted in the block says so in its ``repr``, in ``public_data_`` and as a label of its
    guarantee, which certificates carry. Other threads and worker processes are not in the block,
    nor is a task that goes on after its end. In a generator, do not ``yield`` inside the block.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.model_selection import cross_val_score
        >>> from dpproof.learn import PerceptronClassifier
        >>> model = PerceptronClassifier(sigma=1, classes=range(3), steps=5)
        >>> with public_data():
        ...     len(cross_val_score(model, *load_iris(return_X_y=True)))
        5
    """
    block = [True]
    token = _PUBLIC.set(block)
    try:
        yield
    finally:
        block.clear()
        _PUBLIC.reset(token)


def data_are_public() -> bool:
    """Return whether the caller is in a block of ``public_data``."""
    return any(_PUBLIC.get())


def marked(guarantee: N) -> N:
    """Return the guarantee, with a label if the data are declared public."""
    return guarantee.labelled(_SAID) if data_are_public() else guarantee


def said_public(model: object) -> str:
    """Return what the ``repr`` of a model adds: that its data were declared public, or nothing."""
    return f" {_SAID}" if getattr(model, "public_data_", False) else ""


def warn_of_transformers() -> None:
    """Warn of every pipeline among the callers with a part that learns from rows, by its tags."""
    frame = inspect.currentframe()
    while frame is not None:
        pipeline = frame.f_locals.get("self") if frame.f_code.co_name.startswith("fit") else None
        if isinstance(pipeline, Pipeline):
            learning = sorted({type(one).__name__ for _, s in pipeline.steps for one in _leaves(s)})
            if learning:
                warnings.warn(
                    f"{', '.join(learning)} of this pipeline learns from rows, and no guarantee "
                    "covers that: take a transformer of public constants, or PrivateScaler with "
                    "pipeline_guarantee",
                    UnpaidTransformer,
                    stacklevel=2,
                )
        frame = frame.f_back


def _leaves(step: Any) -> list[BaseEstimator]:
    """Return what learns from rows without paying, of a transformer's parts or of itself."""
    if not isinstance(step, BaseEstimator) or hasattr(step, "guarantee"):
        return []
    inner = [one for one in step.get_params().values() if isinstance(one, BaseEstimator)]
    if inner:
        return [leaf for one in inner for leaf in _leaves(one)]
    return [step] if get_tags(step).requires_fit else []


# Parts of scikit-learn that fit clones of an estimator, on the same records or on parts of them.
_REFITTING: Final = (
    "calibration ensemble feature_selection impute linear_model multiclass multioutput "
    "semi_supervised"
)
_SEARCH: Final = "model_selection"


@final
class RefitRefused(PrivacyError, RuntimeError):
    """A private estimator is fitted by what releases many fits and pays for one or none."""


def refuse_search() -> None:
    """Refuse to go on if a part of scikit-learn calls that fits an estimator several times."""
    # Searches fit clones on the same records, and ensembles many: all of these are releases.
    if data_are_public():
        return
    warn_of_transformers()
    frame = inspect.currentframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        top, _, rest = module.partition(".")
        part = rest.partition(".")[0]
        if top == "sklearn" and part == _SEARCH:
            raise RefitRefused(
                f"{module} fits a private estimator several times on the same records and scores "
                "them without noise, and every fit and score is a release; dpproof.learn.tune("
                "estimator, grid) selects privately, within one budget, and with "
                "dpproof.learn.public_data(): lets it go on where all rows are public"
            )
        if top == "sklearn" and part in _REFITTING.split():
            raise RefitRefused(
                f"{module} fits a private estimator several times, and every fit is a release; fit "
                "each model yourself and state accountant.compose(...) of their guarantees, or let "
                "a ledger pay for each"
            )
        frame = frame.f_back


LedgerPlace: TypeAlias = Ledger | str
"""A ledger, or where it is: a path or a database URL."""


@contextmanager
def paid(
    ledger: LedgerPlace | None, key: str | None, guarantee: Guarantee[Any], label: str
) -> Iterator[None]:
    """Reserve a guarantee, if there is a ledger, and commit it at the end: keep nothing before."""
    if (ledger is None) != (key is None):
        allowed = "given together, or neither"
        hint = "the key names this fit in the ledger, which pays for it once"
        raise ParameterError("ledger and ledger_key", "one of them", allowed, hint)
    working = at_work(lambda: f"{label} is fitted")
    if ledger is None or key is None:
        with working:
            yield
        return
    opened = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    try:
        with opened.reserve(guarantee, key=key, label=label), working:
            yield
    finally:
        if opened is not ledger:
            opened.close()


@final
class PredictableNoise(UserWarning):
    """The noise follows from a seed: whoever knows the seed knows the data. Tests only."""


@final
class SecondRelease(UserWarning):
    """An estimator was fitted again: on the same records, both fits cost, and their costs add."""


# One entry of a section: its names, up to the colon, and all its lines.
_ENTRY: Final = re.compile(r"^    (\w[\w, ]*): .*\n(?:     .*\n)*", re.MULTILINE)


def completed(text: str, base: str, absent: set[str]) -> str:
    """Return a docstring with the entries of another one whose names it neither has nor lacks."""
    for title in ("Args", "Attributes", "Raises"):
        section = re.compile(rf"^{title}:\n((?:    .*\n)+)|^Example:|\Z", re.MULTILINE)
        own, others = section.search(text), section.search(base)
        assert own and others  # noqa: S101, PT018  # every text has an end
        said = absent | {n for one in _ENTRY.finditer(own[1] or "") for n in one[1].split(", ")}
        found = _ENTRY.finditer(others[1] or "")
        more = "".join(one[0] for one in found if not said & {*one[1].split(", ")})
        place, head = (own.end(), "") if own[1] else (own.start(), f"{title}:\n")
        text = text[:place] + (head + more if more else "") + text[place:]
    return text


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateEstimator(BaseEstimator, ABC):  # type: ignore[misc]  # untyped library
    """An estimator by what a mechanism releases: the budget, and one paid fit.

    A subclass says which mechanism runs at a given sigma, and what of its release it keeps. Its
    arguments are fields, of which the constructor and scikit-learn's ``get_params`` are made. Its
    docstring gets what this one says of arguments, attributes and errors that it leaves out.

    Args:
        epsilon, delta: the budget; sigma is calibrated to it.
        relation: which datasets are neighbours; None is AddRemove().
        random_state: None takes the noise from the operating system. An integer makes it
            predictable, for tests only, and warns.
        ledger: a ``dpproof.Ledger``, its path or its URL, from which ``fit`` pays before it
            releases anything; clones spend the same one.
        ledger_key: names the fit in the ledger. It pays for one fit: a second one is refused.
    Attributes:
        n_features_in_: features of ``fit``.
        guarantee_: the guarantee of the fit.
    Raises:
        ParameterError: on guarantee and fit, an argument outside its domain.
    """

    epsilon: Number | None = None
    delta: Number | None = None
    sigma: Number | None = None
    relation: Relation | None = None
    random_state: int | None = None
    ledger: LedgerPlace | None = None
    ledger_key: str | None = None

    def __init_subclass__(cls, **given: Any) -> None:
        """Complete the docstring, from the nearest base that has arguments."""
        super().__init_subclass__(**given)
        base = next(one for one in cls.__mro__[1:] if issubclass(one, PrivateEstimator))
        text, said = (f"{inspect.cleandoc(one.__doc__ or '')}\n" for one in (cls, base))
        absent = {n for n, one in vars(cls).items() if isinstance(one, Field) and not one.init}
        cls.__doc__ = completed(text, said, absent)

    def __setattr__(self, name: str, value: object) -> None:
        """Keep an attribute, of a ledger's URL as one that does not show its password."""
        super().__setattr__(name, hidden(value) if name == "ledger" else value)

    @property
    def neighbours(self) -> Relation:
        """Return the neighbouring relation, add-remove unless another is stated."""
        return AddRemove() if self.relation is None else self.relation

    @abstractmethod
    def _at(self, sigma: Number) -> Mechanism[Relation]:
        """Return the mechanism with noise of this standard deviation."""

    def _priced(self, sigma: Number) -> Mechanism[Relation]:
        """Return what is calibrated: it costs what ``_at`` costs, wherever that has a price."""
        return self._at(sigma)

    @abstractmethod
    def adopt(self, released: Any, guarantee: Guarantee[Relation]) -> Self:
        """Keep an output of ``learner()``, with the guarantee of it, or of many runs of it."""

    def learner(self) -> Mechanism[Relation]:
        """Return the mechanism that ``fit`` releases from, its noise calibrated to the budget.

        Raises:
            ParameterError: an argument outside its domain, or not one of a budget and sigma.
        """
        if (self.sigma is None) == (self.epsilon is None):
            both = "neither" if self.sigma is None else "both"
            name = type(self).__name__
            hint = f"write {name}(epsilon=1, delta=1e-5, ...) or {name}(sigma=4, ...)"
            raise ParameterError("a budget or the noise", both, "given, and not both", hint)
        if self.sigma is not None:
            return self._at(self.sigma)
        self._at(1)  # refuses every other bad argument by its name
        budget: Any = {"epsilon": self.epsilon, "delta": self.delta}
        calibrated = calibrate(self._priced, **budget, increasing=False)
        return self._at(calibrated.value)

    def guarantee(self) -> Guarantee[Relation]:
        """Return the guarantee of one fit, known before there is data; errors as of ``learner``."""
        return self.learner().guarantee()

    def certificate(self, *, delta: Number | None = None) -> Certificate:
        """Return a certificate of the fit's (epsilon, delta), for ``dpproof check``.

        It is about the fit, whatever arguments were set since; without one, about the next.
        ``delta`` is by default that of the budget, and refused by ``ParameterError`` if there is
        none.
        """
        at = self.delta if delta is None else delta
        if at is None:
            raise ParameterError("delta", None, "given, here or as part of the budget")
        fitted = hasattr(self, "guarantee_")
        return (self.guarantee_ if fitted else self.guarantee()).certify(delta=at)

    @abstractmethod
    def _rows(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Return rows, and what belongs to them, as the mechanism reads them."""

    def fit_blocks(self, blocks: Any, *, executor: Any = None) -> Self:
        """Fit rows that come in blocks, for data beyond the memory or beyond one machine.

        What is released is what ``fit`` on all rows releases, bit for bit by one source of noise.

        Args:
            blocks: yields blocks again and again, each rows, or a pair of rows and labels or
                targets; or functions without arguments that return them, called where the block is
                added up. Columns are the same in all. Or ``mechanisms.Blocks``.
            executor: adds the blocks up: a ``concurrent.futures.Executor``, Dask's included, as for
                ``mechanisms.Blocks``. None adds them up here, one after the other.
        Raises:
            NeedsAllRecords: the learner is no sum over records; it says why.
            BlockError: a block is out of reach; nothing is released.
            PrivacyError: as for ``fit``.
        Example:
            >>> from dpproof.learn import PCA
            >>> rows = np.eye(4)
            >>> PCA(2, sigma=1).fit_blocks([rows[:2], rows[2:]]).components_.shape
            (2, 4)
        """
        whole = blocks if isinstance(blocks, Blocks) else Blocks(blocks, executor)
        self._before(whole)
        return self._released(lambda _: whole.map(self._reader()))

    def _before(self, blocks: Blocks) -> None:
        """Read of the blocks what a mechanism is made of, such as a public width."""

    def _fitted(self, X: Any, *columns: Any) -> Self:
        """Release from rows, and what belongs to them, read in blocks."""

        def read(learner: Mechanism[Relation]) -> object:
            blocks = in_blocks(self, X, *columns).map(self._reader())
            whole = learner.needs_all and isinstance(X, np.memmap)
            return replace(blocks, records=X.shape[0]) if whole else blocks

        return self._released(read)

    def _reader(self) -> Callable[[Any], Any]:
        """Return what reads blocks as this does, and goes to workers: it has no ledger."""
        given = {**self.get_params(deep=False), "ledger": None, "ledger_key": None}
        return partial(_read_by, type(self)(**{**given, "random_state": None}))

    def _released(self, read: Callable[[Mechanism[Relation]], object]) -> Self:
        """Pay for one release from the records that ``read`` returns, and keep it."""
        refuse_search()
        learner = self.learner()
        guarantee = marked(learner.guarantee())
        self._warn_if_fitted()
        self.__dict__.pop("batches_", None)
        records = read(learner)
        with paid(self.ledger, self.ledger_key, guarantee, type(self).__name__):
            released = learner.release(records, rng=self.rng())
        self.public_data_ = data_are_public()
        return self.adopt(released, guarantee)

    def _warn_if_fitted(self) -> None:
        """Warn that a fit is not the first one."""
        if hasattr(self, "guarantee_"):
            warnings.warn(
                "this estimator was fitted before; on the same records the guarantee of both fits "
                "is their composition",
                SecondRelease,
                stacklevel=5,
            )

    def _added(self, read: Callable[[], object], budget: PrivacyFilter[Any] | None) -> Self:
        """Spend one release of sums from a filter, and keep the total of all since the last fit."""
        # Soundness: all of them are paid from one filter, as ``guarantee_`` is that filter's.
        refuse_search()
        same = budget is getattr(self, "_filter", None)
        if not isinstance(budget, PrivacyFilter):
            raise ParameterError("budget", budget, "a filter, such as GDPFilter(mu=1)")
        if self.ledger is not None:
            raise ParameterError("ledger", "a ledger", "None: the filter pays for batches")
        learner: Any = self.learner()
        arguments = learner, {**self.get_params(deep=False), "random_state": None}
        before, total, number = getattr(self, "batches_", (arguments, 0.0, 0))
        if arguments != before:
            raise ParameterError("arguments", learner, "those of the batches before, or a fit")
        if number == 0:
            self._warn_if_fitted()
        elif not same:
            raise ParameterError("budget", budget, "the filter of the batches before, or a fit")
        public = data_are_public() and (number == 0 or self.public_data_)
        records, mu = read(), learner.guarantee().mu
        budget.spend(marked(learner.guarantee()))
        whole, total = budget.guarantee(), total + learner.release(records, rng=self.rng())
        self.adopt(total, GDP(mu=sqrt_up(mu**2 / (number + 1)), relation=self.neighbours))
        self.batches_, self.public_data_ = (arguments, total, number + 1), public
        self._filter, self.guarantee_ = budget, whole
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return what copies and pickles keep: all but the filter, which is not copied."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_filter"}

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the arguments, and whether the fit was on data declared public."""
        return str(super().__repr__(N_CHAR_MAX)) + said_public(self)

    def rng(self) -> np.random.Generator | None:
        """Return the source of the noise; None is the operating system, and a seed warns."""
        if self.random_state is None:
            return None
        warnings.warn(
            "random_state makes the noise predictable, and the fit protects nobody: tests only",
            PredictableNoise,
            stacklevel=5,
        )
        return np.random.default_rng(self.random_state)


@dataclass(kw_only=True, eq=False, repr=False)
class UnlabelledEstimator(PrivateEstimator, ABC):
    """A private estimator that fits rows alone."""

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002
        """Release what is learned of the rows, and keep it; y is ignored.

        X has numbers, shape (rows, features); rows that are not finite contribute nothing. A second
        fit is a second release: if it sees a record again, the costs of both add up. All else is as
        for ``PerceptronClassifier.fit``.
        """
        return self._fitted(X)


def _read_by(estimator: PrivateEstimator, block: Any) -> Any:
    """Return what a mechanism reads of a part of a block: rows, or a tuple of columns."""
    return estimator._rows(*(block if isinstance(block, tuple) else (block,)))  # noqa: SLF001
