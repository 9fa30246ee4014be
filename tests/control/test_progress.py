"""Progress bars: where somebody can watch them, and of the kind that shows there."""

import sys
import types

import pytest

from nonsmooth.control import progress


@pytest.fixture
def notebook(monkeypatch):
    """A process that looks like the kernel of a notebook."""
    module = types.ModuleType("IPython")
    module.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", module)


@pytest.fixture
def shown(monkeypatch, capfd):
    """What a run of two seconds shows on standard error, which is no terminal here."""
    monkeypatch.setattr(progress, "DELAY", 0.0)

    def watch(show=None):
        with progress.Progress(0.0, 2.0, show, "moreau") as bar:
            bar.update(1.0)
        return capfd.readouterr().err

    return watch


def test_no_bar_where_nobody_watches(shown):
    assert shown() == ""


def test_bar_where_it_was_asked_for(shown):
    assert "moreau" in shown(True)


def test_bar_in_a_notebook(shown, notebook):
    assert progress.in_notebook()
    assert "moreau" in shown()


def test_no_bar_in_a_notebook_that_refused_it(shown, notebook):
    assert shown(False) == ""


def test_bar_of_widgets_only_where_there_are_widgets(notebook, monkeypatch):
    monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: None)
    from tqdm import tqdm

    assert progress.bar_class() is tqdm
