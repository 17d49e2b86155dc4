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

    Parameters
    ----------
    name : str
        Of the module, with its packages.
    call : callable
        Called with the module.
    """

    def __init__(self, name: str, call: "Callable[[ModuleType], None]") -> None:
        self.name = name
        self._call = call

    def install(self) -> None:
        """Look at the modules that are imported from now on."""
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Look at them no more."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, _path: "Any" = None, _target: "Any" = None
    ) -> "ModuleSpec | None":
        """Let others find the module, and its own loader call the function."""
        if name != self.name:
            return None
        from importlib.util import find_spec  # takes longer than a whole start without

        self.remove()  # or it would be asked again
        try:
            spec = find_spec(name)
        finally:
            self.install()
        if hasattr(getattr(spec, "loader", None), "exec_module"):
            self._follow(spec.loader)  # type: ignore[union-attr]
        return spec

    def _follow(self, loader: "Any") -> None:
        run = loader.exec_module
        hidden = vars(loader).get("exec_module")  # that of another who follows

        def exec_module(module: "ModuleType") -> None:
            if hidden is None:
                del loader.exec_module  # its class has one
            else:
                loader.exec_module = hidden
            run(module)
            self.remove()  # not before: an import that fails may be tried again
            self._call(module)

        loader.exec_module = exec_module


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
    """Import the synctax that this file belongs to, whatever the job has installed.

    Its folder does not enter `sys.path`: beside it may be all packages of an environment
    that is not the job's.
    """
    if "synctax" in sys.modules:
        return
    from importlib.util import module_from_spec, spec_from_file_location

    folder = os.path.dirname(os.path.dirname(HERE))  # noqa: PTH120
    start = os.path.join(folder, "__init__.py")  # noqa: PTH118
    spec = spec_from_file_location("synctax", start, submodule_search_locations=[folder])
    if spec is None or spec.loader is None:
        raise ImportError(f"{start} cannot be imported")
    module = module_from_spec(spec)
    sys.modules["synctax"] = module
    spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    if PLAN in os.environ:
        AfterImport("torch", load_recorder).install()
    run_hidden()
