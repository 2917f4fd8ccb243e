-- Only crawlers that wait have asked for the job: it is deleted if all of them disconnect before it runs.
alter table job add is_for_waiting boolean not null default false;
