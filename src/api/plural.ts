/** Counts in the messages of answers. */
export function entries(count: number): string {
  return count === 1 ? '1 cache entry' : `${count} cache entries`
}

export function pages(count: number): string {
  return count === 1 ? '1 page' : `${count} pages`
}

export function domains(count: number): string {
  return count === 1 ? '1 domain' : `${count} domains`
}
