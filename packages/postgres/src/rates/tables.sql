-- Rate limits over all nodes: when each subject used what the limit `what` counts; packages/postgres/src/rates/rate.ts.
create table rate (
  -- Whose uses they are, such as `domain 7`.
  subject text not null,
  what    text not null,
  -- In order. Those that no longer count go with the next use.
  moments timestamptz[] not null,
  -- No moment counts any more.
  ends_at timestamptz not null,
  primary key (subject, what)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
create index rate_end on rate (ends_at);
