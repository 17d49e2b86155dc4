"""Names a wheel by what is in it: the compiled reader, or Python alone.

Read by setuptools while a wheel is built (`tool.setuptools.cmdclass`); no part of synctax.
The extension is optional, so whether there is one is known when it was built, not before:
setuptools would call both kinds by this version of CPython, which neither needs.
"""

from pathlib import Path

from setuptools.command.bdist_wheel import bdist_wheel  # type: ignore[import-untyped]

STABLE_ABI_SINCE = "cp311"
"""As `Py_LIMITED_API` in module.c."""


class Wheel(bdist_wheel):  # type: ignore[misc]
    """`cp311-abi3` with the compiled reader, `py3-none-any` without."""

    def run(self) -> None:
        """Build first, then decide."""
        if not self.skip_build:
            self.run_command("build")
        extension = self.get_finalized_command("build_ext")
        if any(Path(path).is_file() for path in extension.get_outputs()):
            self.py_limited_api = STABLE_ABI_SINCE
        else:
            self.distribution.ext_modules = []
            self.root_is_pure = True
        super().run()
