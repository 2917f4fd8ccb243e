-- What a page says, read once when it is rendered. Pages that 0.2.0 stored have none: they are read when it is needed.
alter table page add column reading_br bytea;
