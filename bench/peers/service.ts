export type Service = {
  name: string
  version: string
  pid: number
  /** Renders one page; `fresh` is false if it came from a cache. */
  render(path: string): Promise<{ status: number; html: string; fresh: boolean }>
  close(): Promise<void>
}

/** Every page has a new address, and texts that make it complete. */
export type Site = {
  name: string
  originUrl: string
  page(number: number): { path: string; texts: readonly string[] }
  close(): Promise<void>
}

export type PageToRender = ReturnType<Site['page']>

export type GivenBrowser = { executable: string; environment: Record<string, string> }
