"""What a Python of a recorded job does before it imports torch, and when it does."""

import importlib
import os
import runpy
import subprocess
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

import synctax
from synctax.record.bootstrap import sitecustomize
from synctax.record.bootstrap.sitecustomize import AfterImport
from synctax.record.plan import Plan
from tests.record import fake_torch

BOOTSTRAP = sitecustomize.HERE


@pytest.fixture
def python(tmp_path):
    """Run code in a Python that has our folder first, and `site` behind it."""
    plan = tmp_path / "plan.json"
    plan.write_text("{}")
    behind = tmp_path / "site"
    behind.mkdir()

    def run(code, *flags, recorded=True, arguments=(), **variables):
        env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | variables
        env["PYTHONPATH"] = os.pathsep.join([BOOTSTRAP, str(behind)])
        if recorded:
            env["SYNCTAX_RECORD_PLAN"] = str(plan)
        command = [sys.executable, *flags, "-c", code, *map(str, arguments)]
        return subprocess.run(
            command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False
        )

    run.site = behind
    run.plan = plan
    return run


# ------------------------------------------------------------------ what is hidden


def test_the_sitecustomize_that_is_hidden_runs_and_is_the_one_imported(python):
    (python.site / "sitecustomize.py").write_text("print('theirs')\nmark = 1")
    code = "import sitecustomize, sys; print(sitecustomize.mark, 'torch' in sys.modules)"
    done = python(code)
    assert done.stdout == "theirs\n1 False\n"
    assert done.stderr == ""


def test_our_folder_leaves_the_path_of_the_process_but_not_of_its_children(python):
    code = f"import os, sys; print({BOOTSTRAP!r} in sys.path, os.environ['PYTHONPATH'])"
    shown = python(code).stdout.split()
    assert shown == ["False", f"{BOOTSTRAP}{os.pathsep}{python.site}"]


def test_an_error_of_the_hidden_sitecustomize_is_told_as_python_tells_it(python):
    (python.site / "sitecustomize.py").write_text("import nonesuch")
    done = python("print('on')")
    assert done.stdout == "on\n"
    assert "Error in sitecustomize" in done.stderr
    assert "nonesuch" in done.stderr


def test_nothing_of_synctax_is_imported_without_torch(python):
    code = "import sys; print([m for m in sys.modules if m.startswith('synctax.')])"
    # an editable install may import its own finder
    assert python(code).stdout == "[]\n"


def test_nothing_waits_for_torch_where_nothing_is_recorded(python):
    code = "import sys; print([type(f).__name__ for f in sys.meta_path])"
    assert "AfterImport" in python(code).stdout
    assert "AfterImport" not in python(code, recorded=False).stdout


def test_an_isolated_python_knows_nothing_of_us(python):
    done = python("import sys; print(len(sys.meta_path), sys.argv)", "-I")
    assert "AfterImport" not in done.stdout
    assert done.stderr == ""


def test_the_one_that_is_hidden_takes_our_place(tmp_path, monkeypatch):
    (tmp_path / "hidden_custom.py").write_text("mark = 1")
    own = types.ModuleType("hidden_custom")
    monkeypatch.setattr(sitecustomize, "__name__", "hidden_custom")
    monkeypatch.setattr(sys, "path", [BOOTSTRAP, str(tmp_path)])
    monkeypatch.setitem(sys.modules, "hidden_custom", own)
    sitecustomize.run_hidden()
    assert sys.modules["hidden_custom"].mark == 1
    assert sys.path == [str(tmp_path)]


def test_where_nothing_is_hidden_we_stay_and_errors_pass(tmp_path, monkeypatch):
    own = types.ModuleType("hidden_custom")
    monkeypatch.setattr(sitecustomize, "__name__", "hidden_custom")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setitem(sys.modules, "hidden_custom", own)
    sitecustomize.run_hidden()
    assert sys.modules["hidden_custom"] is own
    (tmp_path / "hidden_custom.py").write_text("import nonesuch")
    importlib.invalidate_caches()
    with pytest.raises(ModuleNotFoundError, match="nonesuch"):
        sitecustomize.run_hidden()


@pytest.mark.parametrize("recorded", [True, False])
def test_it_acts_as_sitecustomize_alone(recorded, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    (tmp_path / "sitecustomize.py").write_text("")
    monkeypatch.setattr(sys, "path", [BOOTSTRAP, str(tmp_path), *sys.path])
    monkeypatch.setitem(sys.modules, "sitecustomize", sitecustomize)
    monkeypatch.delenv("SYNCTAX_RECORD_PLAN", raising=False)
    # other tests of this process may have imported it
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    if recorded:
        monkeypatch.setenv("SYNCTAX_RECORD_PLAN", "plan.json")
    runpy.run_path(sitecustomize.__file__, run_name="sitecustomize")
    kinds = [type(finder).__name__ for finder in sys.meta_path]
    assert kinds.count("AfterImport") == recorded
    assert sys.path[0] == str(tmp_path)


# ------------------------------------------------------------------ when torch comes


def test_a_plan_that_cannot_be_read_is_one_line_and_no_harm(python):
    fake_torch.write(python.site)
    python.plan.unlink()
    done = python("import torch; print(torch.optim.SGD().step())")
    assert done.stdout == "stepped\n"
    assert done.stderr.count("\n") == 1
    assert "is not recorded: FileNotFoundError" in done.stderr


def test_a_python_that_is_too_old_says_which_one_is_needed(python, monkeypatch, capsys):
    monkeypatch.setattr(sitecustomize.sys, "version_info", (3, 9, 2))
    sitecustomize.load_recorder(types.ModuleType("torch"))
    said = capsys.readouterr().err
    assert "it needs Python 3.11 or newer" in said
    assert "Python 3.9" in said


def test_a_torch_that_cannot_be_imported_fails_as_it_would(python):
    fake_torch.write(python.site)
    code = "try:\n    import torch\nexcept ImportError as e:\n    print(e)"
    done = python(code, TORCH_FAILS="1")
    assert done.stdout == "libcudart.so is missing\n"
    assert done.stderr == ""


def test_a_python_without_synctax_uses_the_one_of_the_command(python, tmp_path):
    # -S leaves out site-packages, where synctax is; what it does not do is done by hand
    fake_torch.write(python.site)
    python.plan.write_text(Plan(tmp_path).to_json())
    code = (
        "try:\n    import synctax\n    print('known')\nexcept ImportError:\n    pass\n"
        "import sys, sitecustomize, torch, synctax\n"
        "torch.optim.SGD().step()\n"
        "print(synctax.__file__, [p for p in sys.path if p.endswith('site-packages')])\n"
    )
    done = python(code, "-S")
    package = Path(BOOTSTRAP).parents[1]
    assert done.stderr == ""
    assert done.stdout == f"{package}/__init__.py []\n"
    assert (tmp_path / "log" / "rank0.txt").read_text().startswith("begin")


def test_a_synctax_that_the_script_has_imported_stays_if_it_is_of_our_version(monkeypatch):
    own = types.ModuleType("synctax")
    own.__version__ = synctax.__version__
    monkeypatch.setitem(sys.modules, "synctax", own)
    before = set(sys.modules)
    sitecustomize._load_synctax()
    assert sys.modules["synctax"] is own
    assert set(sys.modules) == before


def test_a_synctax_of_another_version_is_told_and_nothing_is_recorded(monkeypatch, capsys):
    own = types.ModuleType("synctax")
    own.__version__ = "0.0.1"
    monkeypatch.setitem(sys.modules, "synctax", own)
    sitecustomize.load_recorder(types.ModuleType("torch"))
    (line,) = capsys.readouterr().err.splitlines()
    both = f"imported synctax 0.0.1, and synctax {synctax.__version__} is to record it"
    assert both in line


def test_a_torch_that_was_imported_before_us_is_recorded(python):
    fake_torch.write(python.site)
    # as a .pth may do; python itself runs none of those in PYTHONPATH
    code = (
        "import sys, runpy; sys.path.insert(0, sys.argv[1]); import torch\n"
        "runpy.run_path(sys.argv[2], run_name='sitecustomize')\n"
        "sys.modules['torch'].optim.SGD().step()"
    )
    python.plan.write_text(Plan(python.plan.parent).to_json())
    done = python(code, "-S", arguments=[python.site, sitecustomize.__file__])
    assert done.stderr == ""
    log = python.plan.parent / "log" / "rank0.txt"
    assert log.read_text().startswith("begin")


def test_synctax_is_imported_from_where_this_file_is(monkeypatch):
    kept = sys.modules["synctax"]
    monkeypatch.delitem(sys.modules, "synctax")
    monkeypatch.setattr(sys, "path", [])
    sitecustomize._load_synctax()
    made = sys.modules["synctax"]
    assert made is not kept
    assert (made.__file__, list(made.__path__)) == (kept.__file__, list(kept.__path__))


def test_a_folder_that_is_no_package_is_told(monkeypatch, tmp_path):
    monkeypatch.delitem(sys.modules, "synctax")
    monkeypatch.setattr("importlib.util.spec_from_file_location", lambda *_, **__: None)
    with pytest.raises(ImportError, match=r"__init__\.py cannot be imported"):
        sitecustomize._load_synctax()


# ------------------------------------------------------------------ the finder


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module that fails to be imported while a file is there."""
    monkeypatch.syspath_prepend(tmp_path)
    text = "import pathlib\nassert not pathlib.Path(__file__).with_name('bad').exists()"
    (tmp_path / "some_module.py").write_text(text)
    yield tmp_path
    sys.modules.pop("some_module", None)


@pytest.fixture
def waits(monkeypatch):
    """Wait for `some_module`; return those that have been seen, a list that grows."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))

    def waits():
        seen = []
        AfterImport("some_module", seen.append).install()
        return seen

    return waits


def test_a_function_is_called_with_the_module_once_it_is_whole(module, waits):
    seen = waits()
    made = importlib.import_module("some_module")
    assert seen == [made]
    assert "exec_module" not in vars(made.__loader__)
    importlib.reload(made)
    assert seen == [made]


def test_an_import_that_fails_may_be_tried_again(module, waits):
    seen = waits()
    (module / "bad").touch()
    with pytest.raises(AssertionError):
        importlib.import_module("some_module")
    assert seen == []
    (module / "bad").unlink()
    importlib.import_module("some_module")
    assert len(seen) == 1


def test_two_may_wait_for_one_module(module, waits):
    one, other = waits(), waits()
    made = importlib.import_module("some_module")
    assert one == other == [made]
    assert "exec_module" not in vars(made.__loader__)


def test_a_module_that_is_not_there_stays_missing(waits):
    seen = waits()
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("some_module")
    assert seen == []
    assert sys.meta_path[0].find_spec("another") is None


def test_a_module_that_is_there_already_is_seen_at_once(module, waits):
    made = importlib.import_module("some_module")
    finders = list(sys.meta_path)
    assert waits() == [made]
    assert sys.meta_path == finders


def test_a_module_that_is_being_imported_is_not_seen_before_its_end(module, waits):
    seen = []
    sys.modules["look"] = types.SimpleNamespace(now=lambda: seen.append(waits()))
    text = (module / "some_module.py").read_text()
    (module / "some_module.py").write_text(f"import look\nlook.now()\n{text}")
    importlib.import_module("some_module")
    del sys.modules["look"]
    assert seen == [[]]


class Watched(list):
    """A list of finders that tells when one is taken out or put in."""

    changes = 0

    def remove(self, value):
        self.changes += 1
        super().remove(value)

    def insert(self, at, value):
        self.changes += 1
        super().insert(at, value)


def test_the_list_of_finders_that_others_go_through_is_not_changed_by_an_import(
    module, waits, monkeypatch
):
    seen = waits()
    finders = Watched(sys.meta_path)
    monkeypatch.setattr(sys, "meta_path", finders)
    importlib.import_module("some_module")
    assert len(seen) == 1
    assert finders.changes == 0


class Slotted:
    """A loader that takes no attributes."""

    __slots__ = ()

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.mark = 1


class OfAll(Slotted):
    """A loader that is a class, as that of frozen modules."""

    @classmethod
    def create_module(cls, spec):
        return None

    @classmethod
    def exec_module(cls, module):
        module.mark = 2


@pytest.mark.parametrize(("loader", "mark"), [(Slotted(), 1), (OfAll, 2)])
def test_a_loader_that_cannot_be_followed_loads_as_it_would(waits, loader, mark):
    class Finder:
        def find_spec(self, name, path, target):
            return ModuleSpec(name, loader) if name == "some_module" else None

    kept = dict(vars(OfAll))
    sys.meta_path[:] = [types.SimpleNamespace(), Finder()]  # the first is of an old kind
    seen = waits()
    try:
        assert importlib.import_module("some_module").mark == mark
    finally:
        sys.modules.pop("some_module", None)
    assert seen == []
    assert dict(vars(OfAll)) == kept
