-- Jobs that have ended get a table of their own, with partitions of days. Those that are in `job` are moved later, in small steps:
-- packages/pages/src/queue/jobs/ended-jobs.ts. They come into the first partition, whose name has the first day that is not in it.
-- What PostgreSQL writes as text here does not depend on the server's settings.
set local timezone = 'UTC';
set local datestyle = 'ISO, YMD';
create table job_ended (
  id          uuid not null,
  domain_id   integer not null references domain on delete cascade,
  path        text collate "C" not null,
  variant     text not null check (variant in ('desktop', 'mobile')),
  is_both     boolean not null,
  priority    smallint not null,
  state       text not null check (state in ('done', 'failed', 'cancelled')),
  outcome     text,
  detail      text,
  created_at  timestamptz not null,
  finished_at timestamptz not null default now(),
  request_id  text,
  warm        bigint
) partition by range (finished_at);
create index job_ended_id on job_ended (id);
create index job_ended_domain on job_ended (domain_id, finished_at);
create index job_ended_finished on job_ended (finished_at);
create table job_ended_default partition of job_ended default;
do $$
declare
  bound date := (now() at time zone 'UTC')::date + 2;
begin
  execute format('create table %I partition of job_ended for values from (minvalue) to (%L)',
    'job_ended_before_' || to_char(bound, 'YYYYMMDD'), bound || ' 00:00+00');
end
$$;
-- A page that a waiting crawler has still to get goes by its age.
alter table unstored_page drop constraint unstored_page_job_id_fkey;
-- New ids begin with the time, so that they are added at the end of indexes.
alter table job alter id set default
    overlay(overlay(gen_random_uuid()::text placing '7' from 15)
    placing overlay(lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') placing '-' from 9 for 0)
    from 1 for 13)::uuid;
