import type { DerivedForm, Form } from '@prepaint/contract/outcome/form.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { within } from '@prepaint/runtime/within.ts'
import type { EdgeBackend } from '../backend.ts'
import type { EdgeDomain } from '../request/domain.ts'
import type { PageCache } from './page-cache.ts'
import type { Served, ServedPage } from './prepared-page.ts'
import { formIn } from './send-page.ts'

/** Finds or makes the other forms of pages. Hits from memory do not come here. */
export class PageForms {
  readonly #backend: EdgeBackend
  readonly #pages: PageCache<Served>
  readonly #log: Log
  readonly #making = new WeakMap<ServedPage, Partial<Record<DerivedForm, Promise<void>>>>()

  constructor(backend: EdgeBackend, pages: PageCache<Served>, log: Log) {
    this.#backend = backend
    this.#pages = pages
    this.#log = log
  }

  /**
   * Returns the form that can be given: HTML where the page has no other, or if it takes too long. `database`: it is not in
   * memory, and the database is away. Never rejects.
   */
  async find(
    domain: EdgeDomain,
    id: PageId,
    page: ServedPage,
    asked: Form,
  ): Promise<Form | 'own-markdown' | 'database'> {
    const known = formIn(page, asked)
    if (known !== undefined || asked === 'html') return known ?? 'html'
    if (this.#backend.isAway) return 'database'
    const making = this.#making.get(page) ?? {}
    this.#making.set(page, making)
    making[asked] ??= this.#make(domain, id, page, asked).finally(() => delete making[asked])
    const waitMs = this.#backend.formWaitMs
    await (waitMs === null ? making[asked] : within(waitMs, making[asked], undefined))
    return formIn(page, asked) ?? (this.#backend.isAway ? 'database' : 'html')
  }

  async #make(domain: EdgeDomain, id: PageId, page: ServedPage, form: DerivedForm): Promise<void> {
    const about = { domain: domain.name, path: id.path, form }
    const url = `https://${domain.name}${id.path}`
    try {
      const { etag, isStored, changedAtMs, html } = page
      const made = await this.#backend.readForm({ form, domain, page: id, etag, isStored, changedAtMs, html })
      if (made === 'busy') return
      if (made === null) this.#log.info(about, 'a page could not be converted; it is served as HTML')
      page.addForm(form, made, url)
      this.#pages.grown(id, page)
    } catch (error) {
      this.#log.error({ err: error, ...about }, 'a page could not be converted')
      if (this.#backend.isAway) return
      page.addForm(form, null, url)
    }
  }
}
