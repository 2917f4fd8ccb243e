-- The origin is asked in the crawler's order and spelling: packages/pages/src/queue/jobs/spelling.ts.
create table page_spelling (
  domain_id integer not null references domain on delete cascade,
  path      text collate "C" not null,
  spelling  text not null,
  asked_at  timestamptz not null default now(),
  primary key (domain_id, path)
);
