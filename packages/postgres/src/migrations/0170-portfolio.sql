-- The list of all sites: tags, templates, DNS states, and visits and failures beside the other sums.
create table domain_tags (
  domain_id integer primary key references domain on delete cascade,
  tags      text[] not null
);

create table settings_template (
  id         integer generated always as identity primary key,
  account_id integer not null references account on delete cascade,
  name       text not null,
  settings   jsonb not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index settings_template_name on settings_template (account_id, lower(name));

create table dns_look (
  domain_id  integer primary key references domain on delete cascade,
  state      text not null default 'not-checked',
  addresses  text[] not null default '{}',
  checked_at timestamptz,
  watched_at timestamptz not null default '-infinity'
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
create index dns_look_due on dns_look (checked_at);

alter table traffic_minute add column visits integer not null default 0;
alter table traffic_minute add column failed integer not null default 0;
alter table traffic_folded_day add column visits bigint not null default 0;
alter table traffic_folded_day add column failed bigint not null default 0;
-- The days that the list shows. Nodes of 0.2.0 counted them without these sums.
update traffic_folded_day f set visits = coalesce(s.visits, 0), failed = coalesce(s.failed, 0)
  from (select domain_id, day, sum(visits) filter (where category <> 'people') as visits,
               sum(visits) filter (where is_for_page(category, verdict) and verdict not in ('hit', 'stale', 'rendered')) as failed
          from traffic_day where day >= current_date - 15 group by domain_id, day) s
 where f.domain_id = s.domain_id and f.day = s.day;
