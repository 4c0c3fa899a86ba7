"""HTML pages: the report of a finished study with its pictures, and live motions."""

from .live.page import live_page as live_page
from .report import write_report as write_report
