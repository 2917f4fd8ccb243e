-- API keys with some rights, and for named domains. Keys of before have all.
alter table api_key add column rights text[] not null default '{read,refresh,write}';
alter table api_key add column domains integer[];
