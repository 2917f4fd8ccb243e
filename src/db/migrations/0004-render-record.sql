-- What each render did, for the owner who asks why. The last 20 of a page, for a week; src/queue/judging/render-records.ts.
create table render_record (
  id         bigint generated always as identity primary key,
  domain_id  integer not null references domain on delete cascade,
  path       text collate "C" not null,
  job_id     uuid not null,
  outcome    text not null,
  detail     text,
  -- From the first asking to the claim, and from the claim to the stored result.
  queued_ms  integer not null,
  stored_ms  integer not null,
  record     jsonb not null,
  ended_at   timestamptz not null default now()
);
create index render_record_page on render_record (domain_id, path, id);
create index render_record_domain on render_record (domain_id, id);
create index render_record_ended on render_record (ended_at);
