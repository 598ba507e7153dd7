from language_server.vllm.counters import Counters
from language_server.vllm.metrics import Pages

PAGE = """\
# HELP python_info Python.
# TYPE python_info gauge
python_info{version="3"} 1.0
# HELP vllm:prefix_cache_queries_total Tokens.
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0",model_name="m"} 100.0
vllm:prefix_cache_queries_total{engine="1",model_name="m"} 50.0
# HELP vllm:prefix_cache_hits_total Tokens.
# TYPE vllm:prefix_cache_hits_total counter
vllm:prefix_cache_hits_total{engine="0",model_name="m"} 120.0
# HELP vllm:generation_tokens_total Tokens.
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="m"} 7.0
# HELP vllm:cache_config_info Information.
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="32",cache_dtype="auto",num_gpu_blocks="100"} 1.0
"""


def test_what_was_computed_is_what_was_not_found_and_what_was_written() -> None:
    assert Counters(PAGE).computed_tokens == 100 + 50 - 120 + 7


def test_the_size_of_the_cache() -> None:
    assert Counters(PAGE).cache_tokens == 3200
    assert Counters("").cache_tokens == float("inf")
    assert Counters('vllm:cache_config_info{num_gpu_blocks="None"} 1.0').cache_tokens == float(
        "inf"
    )


def test_an_empty_page_has_no_counts() -> None:
    assert Counters("").computed_tokens == 0
    assert Counters("").total("vllm:anything") == 0


def test_only_vllm_s_metrics_are_passed_on_with_a_name() -> None:
    families = {family.name: family for family in Counters(PAGE).families("vllm-3")}
    assert "python_info" not in families
    (sample,) = families["vllm:cache_config_info"].samples
    assert sample.labels["replica"] == "vllm-3"


def test_the_pages_of_several_are_joined() -> None:
    families = list(Pages([Counters(PAGE).families(name) for name in ("a", "b")]).collect())
    assert len({family.name for family in families}) == len(families)
    (cache,) = [family for family in families if family.name == "vllm:cache_config_info"]
    assert [sample.labels["replica"] for sample in cache.samples] == ["a", "b"]
