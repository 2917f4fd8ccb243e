-- What reports tell of whole months, kept longer than the counts of days that it was read from; kept-months.ts beside this file.
-- Domains of which there is nothing to tell have no row.
create table domain_month (
  domain_id integer not null references domain on delete cascade,
  month     date    not null,
  figures   jsonb   not null,
  primary key (domain_id, month)
);

-- The months of an account that were kept.
create table account_month (
  account_id integer not null references account on delete cascade,
  month      date    not null,
  primary key (account_id, month)
);
