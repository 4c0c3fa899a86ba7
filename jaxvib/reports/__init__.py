"""Figures, animations and the HTML report of a finished study, drawn from its store."""

from .report import write_report as write_report
