import type { Branding } from '../api/types.ts'

/** How an account looks to its clients. */
export type Look = Pick<Branding, 'name' | 'colour' | 'show_prepaint' | 'logo_url'>

/** A look, and what the account is called where it has chosen no name. */
export type SeenBrand = Look & { account: string }

const STORED = 'prepaint.brand'

/**
 * The brand that was seen last, for screens without a session: nobody knows yet which account a person will open. That of a
 * share link stays in its tab, since anybody can send one; that of an account in which the person was signed in stays in
 * the browser.
 */
class SeenBrands {
  /** That of the tab before that of the browser. Null: ours. */
  last(): SeenBrand | null {
    return this.ofTab() ?? read(() => localStorage)
  }

  /** Of a share link that this tab has shown. */
  ofTab(): SeenBrand | null {
    return read(() => sessionStorage)
  }

  /** Null: the link shows ours. */
  keepOfLink(brand: SeenBrand | null): void {
    write(() => sessionStorage, brand)
  }

  /** Null: the account has chosen none. */
  keepOfAccount(brand: SeenBrand | null): void {
    write(() => sessionStorage, null)
    write(() => localStorage, brand)
  }
}

export const seenBrands = new SeenBrands()

/** Whether it is another look than ours. */
export function isChosen({ name, logo_url: logo, colour, show_prepaint: showsPrepaint }: Look): boolean {
  return !showsPrepaint || (name ?? logo ?? colour) !== null
}

// A storage that is switched off throws where it is named.
function read(storage: () => Storage): SeenBrand | null {
  try {
    return parseBrand(storage().getItem(STORED))
  } catch {
    return null
  }
}

function write(storage: () => Storage, brand: SeenBrand | null): void {
  try {
    if (brand === null) storage().removeItem(STORED)
    else storage().setItem(STORED, JSON.stringify(brand))
  } catch {
    // Without storage the screens before the sign-in have our name.
  }
}

/** Returns null if the text is none that we have written. */
export function parseBrand(text: string | null): SeenBrand | null {
  const brand: unknown = JSON.parse(text ?? 'null')
  if (typeof brand !== 'object' || brand === null) return null
  const { account, name, colour, logo_url, show_prepaint } = brand as Partial<
    Record<keyof SeenBrand, unknown>
  >
  if (typeof account !== 'string' || typeof show_prepaint !== 'boolean') return null
  if (!isText(name) || !isText(colour) || !isText(logo_url)) return null
  return { account, name, colour, logo_url, show_prepaint }
}

function isText(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}
