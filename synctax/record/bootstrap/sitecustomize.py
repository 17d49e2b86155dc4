"""Let a process of a recorded job load what records it, once it has imported torch.

Python imports `sitecustomize` when it starts. With this folder first on PYTHONPATH it
finds this one, which runs the one that it hides, and waits. Whatever Python the job has
runs this file: nothing here is newer than Python 3.6, and nothing of synctax, nor of what
it needs, is imported before torch is.
"""

import os
import sys

TYPE_CHECKING = False  # typing would take longer to import than all the rest
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

PLAN = "SYNCTAX_RECORD_PLAN"
"""Environment variable with the path of the plan (`synctax.record.plan`), as JSON."""

OLDEST = (3, 11)
"""Version of Python that synctax needs."""

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - no pathlib


class AfterImport:
    """A finder that calls a function when a module has been imported, once.

    It stays where it is afterwards and finds nothing: to take a finder out would let an
    import that another thread is at skip the next one.

    Parameters
    ----------
    name : str
        Of the module, with its packages.
    call : callable
        Called with the module.
    """

    def __init__(self, name: str, call: "Callable[[ModuleType], None]") -> None:
        self.name = name
        self.done = False
        self._call = call

    def install(self) -> None:
        """Call at once if the module is there, else look at imports from now on."""
        module = sys.modules.get(self.name)
        if module is not None and not _is_running(module):
            self._finish(module)
        else:
            sys.meta_path.insert(0, self)

    def find_spec(
        self, name: str, path: "Any" = None, target: "Any" = None
    ) -> "ModuleSpec | None":
        """Let those behind find the module, and its own loader call the function."""
        if self.done or name != self.name:
            return None
        finders = list(sys.meta_path)
        behind = finders[finders.index(self) + 1 :] if self in finders else []
        for finder in behind:
            find = getattr(finder, "find_spec", None)
            spec = None if find is None else find(name, path, target)
            if spec is not None:
                self._follow(spec.loader)
                return spec  # type: ignore[no-any-return]
        return None

    def _follow(self, loader: "Any") -> None:
        names = getattr(loader, "__dict__", None)
        if not isinstance(names, dict) or not hasattr(loader, "exec_module"):
            return  # a class that loads all modules, or one that takes no attributes
        run = loader.exec_module
        hidden = names.get("exec_module")  # that of another who follows

        def exec_module(module: "ModuleType") -> None:
            if hidden is None:
                names.pop("exec_module", None)  # its class has one
            else:
                names["exec_module"] = hidden
            run(module)
            self._finish(module)  # not before: an import that fails may be tried again

        names["exec_module"] = exec_module

    def _finish(self, module: "ModuleType") -> None:
        if not self.done:
            self.done = True
            self._call(module)


def _is_running(module: "ModuleType") -> bool:
    """Whether a module is being imported, by another thread or further up."""
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def run_hidden() -> None:
    """Run the `sitecustomize` that would have been found without this one."""
    sys.path[:] = [path for path in sys.path if path != HERE]
    own = sys.modules.pop(__name__)
    try:
        __import__(__name__)
    except ImportError as error:
        if error.name != __name__:
            raise
    finally:
        sys.modules.setdefault(__name__, own)


def load_recorder(_torch: "ModuleType") -> None:
    """Load the recorder; should that fail, say so in one line and let the job go on."""
    try:
        if sys.version_info < OLDEST:
            raise RuntimeError(f"it needs Python {_dotted(OLDEST)} or newer")
        _load_synctax()
        from synctax.record.hook import arm

        arm(os.environ[PLAN])
    except Exception as error:  # noqa: BLE001 - the job must not fail because of us
        found = f"Python {_dotted(sys.version_info)}, {sys.executable}"
        what = f"{type(error).__name__}: {error}"
        sys.stderr.write(f"synctax: this process ({found}) is not recorded: {what}\n")


def _dotted(version: "Any") -> str:
    return ".".join(str(number) for number in version[:2])


def _load_synctax() -> None:
    """Import the synctax that this file belongs to, unless the job has imported its own.

    Its folder does not enter `sys.path`: beside it may be all packages of an environment
    that is not the job's.
    """
    if "synctax" not in sys.modules:
        _run_package("synctax")
        return
    ours = _run_package("synctax_of_the_command").__version__
    del sys.modules["synctax_of_the_command"]
    theirs = getattr(sys.modules["synctax"], "__version__", "of no version")
    if theirs != ours:
        raise RuntimeError(
            f"the job has imported synctax {theirs}, and synctax {ours} is to record it; "
            "install the same version for both"
        )


def _run_package(name: str) -> "Any":
    from importlib.util import module_from_spec, spec_from_file_location

    folder = os.path.dirname(os.path.dirname(HERE))  # noqa: PTH120
    start = os.path.join(folder, "__init__.py")  # noqa: PTH118
    spec = spec_from_file_location(name, start, submodule_search_locations=[folder])
    if spec is None or spec.loader is None:
        raise ImportError(f"{start} cannot be imported")
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "sitecustomize":
    if PLAN in os.environ:
        AfterImport("torch", load_recorder).install()
    run_hidden()
