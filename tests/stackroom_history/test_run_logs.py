"""What runs print lies in one folder, is shown for its run, and goes with it."""

import dagster as dg
import pytest
from dagster._core.storage.compute_log_manager import ComputeIOType


@dg.asset
def talkative():
    print("seven lanterns on the pier")


@pytest.fixture
def instance(tmp_path):
    """Return an instance that keeps what runs print as `dagster.yaml` has it."""
    logs = {"module": "stackroom_history.run_logs", "class": "RunLogs", "config": {"base_dir": str(tmp_path / "state")}}
    with dg.instance_for_test(temp_dir=str(tmp_path), overrides={"compute_logs": logs}) as made:
        yield made


def test_what_a_run_prints_is_kept_in_one_folder_and_deleted_with_the_run(instance, tmp_path):
    result = dg.materialize([talkative], instance=instance)
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["runs"]
    assert [path.name for path in (tmp_path / "state" / "runs").iterdir()] == [result.run_id]
    manager = instance.compute_log_manager
    (key,) = manager.get_log_keys_for_log_key_prefix([result.run_id, "compute_logs"], io_type=ComputeIOType.STDOUT)
    assert b"seven lanterns on the pier" in manager.get_log_data(key).stdout
    manager.delete_logs(prefix=[result.run_id])
    assert list((tmp_path / "state" / "runs").iterdir()) == []
