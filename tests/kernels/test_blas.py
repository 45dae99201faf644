import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mlfs_dask.kernels.blas import single_blas_thread


def threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_the_limit_holds_until_the_last_user_leaves():
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        assert max(before) == 2
        entered, leave = threading.Event(), threading.Event()

        def hold():
            with single_blas_thread():
                entered.set()
                leave.wait(10)

        other = threading.Thread(target=hold)
        with single_blas_thread():
            other.start()
            entered.wait(10)
            assert set(threads()) == {1}
        assert set(threads()) == {1}
        leave.set()
        other.join()
        assert threads() == before


def test_the_limit_is_lifted_after_an_error():
    before = threads()
    with pytest.raises(ZeroDivisionError), single_blas_thread():
        raise ZeroDivisionError
    assert threads() == before
