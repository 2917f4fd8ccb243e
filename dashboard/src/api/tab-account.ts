const NAME = 'prepaint.account'

/** The account that this tab shows. Each tab has its own, and keeps it when it is loaded again. */
class AccountOfTab {
  #id: number | null = null

  get(): number | null {
    this.#id ??= stored()
    return this.#id
  }

  set(id: number | null): void {
    this.#id = id
    try {
      if (id === null) sessionStorage.removeItem(NAME)
      else sessionStorage.setItem(NAME, String(id))
    } catch {
      // Without storage the tab keeps it until it is loaded again.
    }
  }
}

function stored(): number | null {
  try {
    const id = Number(sessionStorage.getItem(NAME))
    return Number.isInteger(id) && id > 0 ? id : null
  } catch {
    return null
  }
}

export const accountOfTab = new AccountOfTab()
