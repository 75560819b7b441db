"""Pre-check of PDFs: which pages carry text that can be trusted, which need OCR, which are blank, and why."""

from stackroom.precheck.classify import PRECHECK_VERSION, classify_pdf, precheck_identity
from stackroom.precheck.directory import (
    NO_OCR_DIR_NAME,
    OCR_DIR_NAME,
    classify_directory,
    format_precheck_report,
    organise_directory,
)
from stackroom.precheck.result import Decision, PageStatistics, PdfClassification

__all__ = [
    "NO_OCR_DIR_NAME",
    "OCR_DIR_NAME",
    "PRECHECK_VERSION",
    "Decision",
    "PageStatistics",
    "PdfClassification",
    "classify_directory",
    "classify_pdf",
    "format_precheck_report",
    "organise_directory",
    "precheck_identity",
]
