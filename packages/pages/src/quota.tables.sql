-- Renders that counted against the quota, by month, and by day for charts.
create table render_count (
  domain_id integer not null references domain on delete cascade,
  month     date not null,
  renders   integer not null default 0,
  primary key (domain_id, month)
);

create table render_day (
  domain_id integer not null references domain on delete cascade,
  day       date    not null,
  renders   integer not null,
  primary key (domain_id, day)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
