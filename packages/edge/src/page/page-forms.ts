import type { DerivedForm, Form } from '@prepaint/contract/outcome/form.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import { type FindParts, findForm } from '@prepaint/pages/forms/stored-form.ts'
import { within } from '@prepaint/runtime/within.ts'
import type { EdgeDomain } from '../request/domain.ts'
import type { PageCache } from './page-cache.ts'
import type { Served, ServedPage } from './prepared-page.ts'
import { formIn } from './send-page.ts'

type PageFormsParts = FindParts & { pages: Pick<PageCache<Served>, 'grown'> }

/** Finds or makes the other forms of pages. Hits from memory do not come here. */
export class PageForms {
  readonly #parts: PageFormsParts
  readonly #making = new WeakMap<ServedPage, Partial<Record<DerivedForm, Promise<void>>>>()

  constructor(parts: PageFormsParts) {
    this.#parts = parts
  }

  /** The form that can be given: HTML where the page has no other, or it takes too long. Never rejects. */
  async find(domain: EdgeDomain, id: PageId, page: ServedPage, asked: Form): Promise<Form | 'own-markdown'> {
    const known = formIn(page, asked)
    if (known !== undefined || asked === 'html') return known ?? 'html'
    const making = this.#making.get(page) ?? {}
    this.#making.set(page, making)
    making[asked] ??= this.#make(domain, id, page, asked).finally(() => delete making[asked])
    const { isReady, limitMs } = this.#parts.converter
    await (isReady ? within(limitMs, making[asked], undefined) : making[asked])
    return formIn(page, asked) ?? 'html'
  }

  async #make(domain: EdgeDomain, id: PageId, page: ServedPage, form: DerivedForm): Promise<void> {
    const { log, pages } = this.#parts
    const about = { domain: domain.name, path: id.path, form }
    const url = `https://${domain.name}${id.path}`
    try {
      const made = await findForm(this.#parts, domain, id, page, form)
      if (made === 'busy') return
      if (made === null) log.info(about, 'a page could not be converted; it is served as HTML')
      page.addForm(form, made, url)
      pages.grown(id, page)
    } catch (error) {
      log.error({ err: error, ...about }, 'a page could not be converted')
      page.addForm(form, null, url)
    }
  }
}
