-- Requests of clients that look automatic and are taken for no crawler. Name '': all names beyond the limit of a day.
create table traffic_unrecognised (
  domain_id  integer     not null references domain on delete cascade,
  day        date        not null,
  name       text collate "C" not null,
  kind       text        not null check (kind in ('tool', 'unknown')),
  visits     bigint      not null,
  -- The newest one of this name.
  user_agent text        not null,
  seen_at    timestamptz not null,
  primary key (domain_id, day, name)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
