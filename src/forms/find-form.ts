import type { Queryable } from '../db/transaction.ts'
import type { PageId } from '../store/page-id.ts'
import { pageBody } from '../store/stored-page.ts'
import type { Converter } from './converter.ts'
import type { DerivedForm } from './form.ts'
import { readForm, readTextChange, type StoredForm, storeForm } from './stored-form.ts'

export type FormOf = {
  account: number
  id: PageId
  /** The page's public URL. */
  url: string
  /** Of the stored HTML. */
  etag: string
  /** False: the page is given once, and so are its forms. */
  isStored: boolean
  changedAtMs: number
  html(): Promise<string>
}

type FindParts = {
  /** For reads that a request waits for. */
  db: Queryable
  /** For the write in the background. */
  pool: Queryable
  converter: Converter
  notStored(error: Error): void
}

/** Reads or makes a form of a stored page. null: there is none; `busy`: ask again later. */
export async function findForm(
  { db, pool, converter, notStored }: FindParts,
  { account, id, url, etag, isStored, changedAtMs, html }: FormOf,
  form: DerivedForm,
): Promise<StoredForm | 'busy' | null> {
  const stored = isStored ? await readForm(db, id, form, etag).catch(() => null) : null
  if (stored !== null) return stored
  const changedAt = new Date(changedAtMs).toISOString()
  const textChange = form === 'markdown' && isStored ? await readTextChange(db, id).catch(() => null) : null
  const converted = await converter.convert(account, { form, html: await html(), url, changedAt, textChange })
  if (converted === 'busy' || converted === null) return converted
  const body = await pageBody(converted.text)
  const made = { bodyBr: body.bodyBr, etag: `${body.etag}-${form}`, facts: converted.facts }
  if (isStored) storeForm(pool, id, form, etag, made).catch(notStored)
  return made
}
