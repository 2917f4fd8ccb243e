-- Figures of whole months, for reports.
create table domain_month (
  domain_id integer not null references domain on delete cascade,
  month     date    not null,
  figures   jsonb   not null,
  primary key (domain_id, month)
);

create table account_month (
  account_id integer not null references account on delete cascade,
  month      date    not null,
  primary key (account_id, month)
);
