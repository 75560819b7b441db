"""Asset `lint_report`: findings about the source's chunks and metadata."""

import dagster as dg

from assets.show import escape, table
from assets.stage_asset import StageAsset, Summary
from stackroom.stages.order import BY_NAME

_SEVERITY = {"error": 0, "warning": 1, "info": 2}


def show(summary: Summary) -> dict[str, dg.MetadataValue]:
    """Return counts, findings with the worst first, and sample windows."""
    findings = sorted(summary["findings"], key=lambda finding: _SEVERITY.get(finding["severity"], 3))
    windows = [
        f"**Window {number}**\n\n"
        + "\n".join(f"- *{escape(str(sample['id'] or ''))}* — {escape(sample['text'])}" for sample in window)
        for number, window in enumerate(summary["windows"], 1)
    ]
    return {
        "errors": dg.MetadataValue.int(summary["errors"]),
        "warnings": dg.MetadataValue.int(summary["warnings"]),
        "findings_count": dg.MetadataValue.int(len(findings)),
        "findings": table(
            findings, {"severity": "string", "rule": "string", "message": "string", "chunk_index": "string"}
        ),
        "samples": dg.MetadataValue.md("\n\n".join(windows) or "no chunks"),
    }


ASSET = StageAsset(
    stage=BY_NAME["lint_report"],
    description="What is wrong or odd about the chunks and metadata of the file, worst first, with samples.",
    kinds=frozenset({"json"}),
    show=show,
    checks={"severity_gate": "There is no finding of severity error."},
    failure_check=("lint_report", "severity_gate"),
)
