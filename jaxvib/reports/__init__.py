"""The HTML report of a finished study and its picture files, made from its store."""

from .report import write_report as write_report
