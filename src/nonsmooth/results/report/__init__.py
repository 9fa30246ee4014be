"""The report of a run: one offline HTML file with a moving scene, linked plots, events and a summary in plain words."""

from nonsmooth.results.report.page import report_page, scene_of
from nonsmooth.results.report.write import write_report

__all__ = ["report_page", "scene_of", "write_report"]
