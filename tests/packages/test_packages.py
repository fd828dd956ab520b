"""Packages that are written for torch or JAX run through the door, with that library's numbers. `nox -s packages`
installs them and runs this; other runs leave it out."""

import pytest

from tests.packages.running import difference, every_program, run


@pytest.mark.parametrize("program", every_program(), ids=lambda program: program.name)
def test_a_program_prints_what_it_prints_on_its_library(program):
    if missing := program.missing():
        pytest.skip(f"{', '.join(missing)} not installed")
    library = program.library
    theirs, ours = (run([str(program.path)], door) for door in (None, library.door))
    assert theirs.returncode == 0, f"on {library.title} itself: {theirs.stderr}"
    assert ours.returncode == 0, ours.stderr
    assert theirs.stdout.strip(), "nothing is printed"
    assert (told := difference(ours.stdout, theirs.stdout, program.tolerance)) is None, told
