"""Rows of the table of options that only the environment says: caches, hubs, proxies, engines."""

from __future__ import annotations

from mmscore.config.kinds import PATH, TEXT
from mmscore.config.option import Option

VARIABLES = (
    Option("", PATH, "where fetched data are kept (the platform's cache folder)",
           env=("MMSCORE_CACHE",), metavar="DIR"),
    Option("", PATH, "where caches are kept, where MMSCORE_CACHE is not set",
           env=("XDG_CACHE_HOME", "LOCALAPPDATA"), metavar="DIR"),
    Option("", TEXT, "the hub of published data sets: modelscope (default) or hf",
           env=("MMSCORE_HUB",), metavar="HUB"),
    Option("", TEXT, "another address of ModelScope",
           env=("MODELSCOPE_ENDPOINT", "MODELSCOPE_DOMAIN"), metavar="URL"),
    Option("", TEXT, "a token for gated or private data sets of ModelScope",
           env=("MODELSCOPE_API_TOKEN",), metavar="TOKEN", secret=True),
    Option("", TEXT, "another address of Hugging Face", env=("HF_ENDPOINT",), metavar="URL"),
    Option("", TEXT, "a token for gated or private data sets of Hugging Face",
           env=("HF_TOKEN",), metavar="TOKEN", secret=True),
    Option("", PATH, "VLMEvalKit's folder of tables (~/LMUData)", env=("LMUData",),
           metavar="DIR"),
    Option("", TEXT, "a proxy, by the scheme of what is asked; this machine is asked without",
           env=("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"), metavar="URL", secret=True),
    Option("", TEXT, "hosts that are asked without a proxy", env=("NO_PROXY",), metavar="HOSTS"),
    Option("", PATH, "certificates to trust: a file or a folder",
           env=("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"),
           metavar="PATH"),
    Option("", TEXT, "how many shards there are, for `--shard auto`", env=("MMSCORE_SHARDS",),
           metavar="N"),
    Option("", TEXT, "the index of the first shard, for `--shard auto`",
           env=("MMSCORE_SHARD_FIRST",), metavar="N"),
    Option("", TEXT, "which shard this is, as the engine says it, for `--shard auto`",
           env=("SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX", "AWS_BATCH_JOB_ARRAY_INDEX",
                "PARALLEL_SEQ", "RANK"), metavar="N"),
    Option("", TEXT, "how many shards there are, as the engine says it",
           env=("SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "WORLD_SIZE"), metavar="N"),
    Option("", TEXT, "no colours in tables, if set", env=("NO_COLOR",), metavar="1"),
    Option("", TEXT, "`dumb` gets neither colours nor a progress bar", env=("TERM",)),
)  # fmt: skip
