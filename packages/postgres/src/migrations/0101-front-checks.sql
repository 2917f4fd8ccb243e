-- The newest check of a site's front.
create table integration_result (
  domain_id integer primary key references domain on delete cascade,
  result    jsonb not null
);
