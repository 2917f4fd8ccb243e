/** A service that renders pages, as a process of its own with everything it starts below it. */
export type Service = {
  name: string
  version: string
  /** Root of its process tree. */
  pid: number
  /** Renders one page of the site now; `fresh` is false when it came from a cache. */
  render(path: string): Promise<{ status: number; html: string; fresh: boolean }>
  close(): Promise<void>
}

/** The site that is rendered: every page has an address nobody asked for before, and texts that make it complete. */
export type Site = {
  name: string
  originUrl: string
  /** The nth page of the whole benchmark. */
  page(number: number): { path: string; texts: readonly string[] }
  close(): Promise<void>
}

export type PageToRender = ReturnType<Site['page']>

/** What the renderers without a browser of their own are handed. */
export type GivenBrowser = { executable: string; environment: Record<string, string> }
