-- What of the first steps of a domain is done, and who needs no list of them any more. Domains of before are set up.
create table domain_checklist (
  domain_id integer primary key references domain on delete cascade,
  done      jsonb not null default '{}',
  hidden_at timestamptz
);
insert into domain_checklist (domain_id, hidden_at) select id, now() from domain;
