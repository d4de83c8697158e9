"""Shared set-up of the differential tests: NumPy is the oracle for everything."""

import gc
import os
import pathlib
import sys

import hypothesis
import numpy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

hypothesis.settings.register_profile(
    "quick", max_examples=60, deadline=None, derandomize=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)  # fmt: skip
hypothesis.settings.register_profile(
    "full", max_examples=2000, deadline=None, suppress_health_check=list(hypothesis.HealthCheck)
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# Each operation is an operator of CANN's: no programs, no floating-point exceptions.
NPU = os.environ.get("ASNUMPY_DEVICE") == "ascend"
SINGLE_OPERATORS = NPU or os.environ.get("ASNUMPY_FUSE") == "0"

# An answer that a later NumPy changed is the later one's here, beside whichever NumPy is installed: tests, or the
# beginnings of their cases, and the version from which NumPy agrees.
SINCE = {
    (2, 3): [
        "test_indexing.py::test_indices_are_checked_where_no_element_moves",
        "test_indexing.py::test_random_get_and_set",
    ],
    (2, 2): ["test_ufuncs.py::test_attributes[matvec]", "test_ufuncs.py::test_attributes[vecmat]"],
    (2, 4): [
        "test_dlpack_in.py::test_arguments[keywords15]",
        "test_indexing.py::test_element_packing",
        "test_indexing.py::test_flat_keys",
    ],
}


def is_older(version):
    return tuple(map(int, numpy.__version__.split(".")[:2])) < version


# What an NPU cannot do: the host does not reach its memory, and it is not called "cpu": tests, or the beginnings of
# their cases.
NPU_LACKS = [
    "test_alignment.py::test_a_buffer_is_shared_at_any_offset",
    "test_alignment.py::test_fields_of_packed_records_are_shared",
    "test_array_api.py::test_dlpack",
    "test_ascend.py::test_own_folder_is_no_npu",
    "test_auto.py::test_crossing",
    "test_auto.py::test_extension_of_ipython",
    "test_auto.py::test_in_ipython",
    "test_auto_scripts.py::test_same[hashing]",
    "test_auto_scripts.py::test_same[in_place]",
    "test_auto_scripts.py::test_same[pictures]",
    "test_dlpack_in.py::test_arguments",
    "test_docs.py::test_text[asnumpy.ndarray.data]",
    "test_ecosystem.py::test_namespace",
    "test_hosts.py::test_buffers_of_empty_arrays_are_writeable",
    "test_hosts.py::test_base_of_a_buffer",
    "test_hosts.py::test_broadcast_arrays_may_be_written",
    "test_hosts.py::test_buffers_of_contiguous_arrays_have_plain_strides",
    "test_hosts.py::test_memory_maps_are_arrays",
    'test_hosts.py::test_same_as_numpy[np.ndarray((2,), "M8[s]", buffer=np.zeros(2, "i8"))]',
    "test_interop.py::test_asarray_shares_memory",
    "test_interop.py::test_buffer_protocol",
    "test_interop.py::test_buffers_in",
    "test_interop.py::test_device_names",
    "test_interop.py::test_dlpack",
    "test_interop.py::test_dlpack_lifetime_and_errors",
    "test_interop.py::test_exported_memory_sees_later_operations",
    "test_interop.py::test_hashes_of_matrices",
    "test_interop.py::test_numbers_and_dtypes_for_the_host",
    "test_interop.py::test_read_only_is_respected",
    "test_large_moves.py::test_pad_constant",
    "libraries/test_torch.py::test_same_as_with_numpy[as_tensor]",
    "libraries/test_torch.py::test_same_as_with_numpy[tensor]",
    "libraries/test_torch.py::test_same_as_with_numpy[tensor[rows]]",
    "test_names.py::test_stays_on_the_device[from_dlpack--]",
    "test_ndarray.py::test_attributes",
    "test_ndarray.py::test_constructor",
    "test_ndarray.py::test_mixed_with_numpy_gives_asnumpy",
    "test_protocols.py::test_base_is_the_owner_of_the_memory",
    "test_protocols.py::test_copy_modes",
    "test_protocols.py::test_pickles_out_of_band",
    "test_protocols.py::test_views_and_values_of_dtypes_on_the_host",
    'test_subclasses.py::test_same_class[a.to_device("cpu")]',
    "test_subclasses.py::test_same_class[np.frombuffer(a)]",
    "test_ufuncs.py::test_two_arrays_over_one_memory",
    "test_ufuncs.py::test_an_operand_twice_as_long_as_the_result_that_it_overlaps",
]


# What a device that runs behind its launches cannot do: say at the call what its work met.
DELAYED = "ASNUMPY_CPU_LAUNCH_DELAY_US" in os.environ
DELAYED_LACKS = [
    "test_conditions.py::test_methods_report",
    "test_conditions.py::test_products_and_transforms_report",
    "test_conditions.py::test_raise_means_at_once",
    "test_conditions.py::test_unread_casts_report",
    "test_contexts.py::test_operations_follow_their_task",
    "test_contexts.py::test_recorded_under_the_default_read_under_others",
    "test_contexts.py::test_tasks_have_their_own_modes",
    "test_contexts.py::test_threads_have_their_own_modes",
    "test_contexts.py::test_warning_as_error_of_another_context_is_unraisable",
    "test_contexts.py::test_wrong_modes_change_nothing",
    "test_errors.py::test_floating_point_conditions",
]


def pytest_ignore_collect(collection_path, config):
    """tests/python/libraries runs where it is named: SciPy reads SCIPY_ARRAY_API once in a process, and
    these tests are of libraries as they come."""
    named = any("libraries" in argument for argument in config.args)
    return True if collection_path.name == "libraries" and not named else None


def with_more_examples(item):
    """The full profile's share for a property that says its own number of examples."""
    test = getattr(item, "obj", None)
    own = getattr(test, "_hypothesis_internal_use_settings", None)
    if own is not None and own.max_examples < 2000:
        more = min(2000, 10 * own.max_examples)
        test._hypothesis_internal_use_settings = hypothesis.settings(
            own, max_examples=more, derandomize=False
        )


def pytest_collection_modifyitems(items):
    for item in items if os.environ.get("HYPOTHESIS_PROFILE") == "full" else ():
        with_more_examples(item)
    lists = [
        (NPU, NPU_LACKS, "needs memory that the host shares, or the device's name"),
        (DELAYED, DELAYED_LACKS, "conditions are reported when the device is waited for"),
        *(
            (is_older(v), names, f"NumPy answers so from {v[0]}.{v[1]} on")
            for v, names in SINCE.items()
        ),
    ]
    for holds, lacking, reason in lists:
        for item in items if holds else ():
            name = item.nodeid.rpartition("tests/python/")[2]
            if any(
                name == lacks or name.startswith(lacks if "[" in lacks else lacks + "[")
                for lacks in lacking
            ):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish():
    """The objects of 24,000 tests are looked at no more: a gc.collect() of some test's took 0.4 s."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def rng(request):
    """Random numbers that are the same in every run of one test."""
    return numpy.random.default_rng(sum(map(ord, request.node.name)))
