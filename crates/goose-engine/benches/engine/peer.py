"""Reads a prompt from stdin, lets llama.cpp go on with it, and prints the figures of the run."""

import sys
import time

start = time.time()
import xllamacpp

model, threads, context, decode = sys.argv[1], *map(int, sys.argv[2:5])
params = xllamacpp.CommonParams()
params.model.path = model
params.n_ctx = context
params.n_parallel = 1
params.cache_ram_mib = 0
params.cpuparams.n_threads = threads
params.cpuparams_batch.n_threads = threads
server = xllamacpp.Server(params)
reply = server.handle_completions(
    {"prompt": sys.stdin.read(), "n_predict": decode, "temperature": 0, "cache_prompt": False, "ignore_eos": True}
)
timings = reply["timings"]
first = time.time() - start - timings["predicted_ms"] / 1000
with open("/proc/self/status") as status:
    peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
print(timings["prompt_n"], timings["prompt_per_second"], timings["predicted_per_second"], peak, first)
