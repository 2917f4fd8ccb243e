-- A full warm of a domain that was asked for and is not done: the paths up to after_path are queued.
create table warm_run (
  domain_id    integer primary key references domain on delete cascade,
  after_path   text collate "C" not null default '',
  requested_at timestamptz not null default now(),
  moved_at     timestamptz not null default now()
);
