-- Refreshes of a domain that no crawler waited for, and deploys that were handled; packages/pages/src/queue/upkeep/refresh-ahead.ts.
create table freshness (
  domain_id integer primary key references domain on delete cascade,
  next_at   timestamptz not null default now(),
  -- The number of refreshes queued ahead on that day.
  day       date,
  ahead     integer not null default 0,
  deploys   timestamptz[] not null default '{}'
) with (fillfactor = 50);
create index freshness_next on freshness (next_at);
