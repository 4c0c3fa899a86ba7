"""The result store: one folder per study, committed chunk by chunk.

    DIR/config.toml     the resolved config, every default written out; runs as it is
    DIR/study.json      what the results depend on and what they are (see below)
    DIR/results.zarr    the results, a zarr v3 group; `unfinished.zarr` until complete
    DIR/journal.jsonl   one line per commit, with the crc32 of each file it wrote
    DIR/times.json      times and host names: all that differs from run to run
    DIR/report.html     the report, drawn from the above alone

`study.json` has the keys `title`, `analysis` and `system` (kinds), `config` (the
resolved config), `samples` (their number), `grid` (swept path: number of values, the
first path slowest; null unless the samples are a grid), `axes` (axis: names along it,
`state` and `freedom` for instance), `evidence` (the trust level), `versions`,
`fingerprint` (what the bytes depend on: device, instruction set, flags) and `git`.

`results.zarr` holds one array per field of the analysis' result, under the field's
name and with the axes (dimension names), `units` and `description` that the field
declares, and one array per swept path, `load.amplitude` say, as a coordinate. A sampled
study (periodic orbits) has the leading axis `sample` throughout, cut into chunks of
`run.chunk` samples; a continuation has the axis `point` instead. The group `traces`
inside has the axis `trace` first: motions of at most 256 samples, evenly chosen, whose
positions along `sample` are its coordinate `sample`.

`xarray.open_zarr(DIR / "results.zarr")` reads it as it lies; `open_study` also checks
every byte against the journal, and gives a grid one dimension per path. An array that
is not complete has no `results.zarr`, so that an absent chunk is never read as NaN. A
chunk counts from the moment its line is in the journal, so a run may be killed anywhere.
"""
