/** Of a path, or of a text that names paths: `/a?token=x` becomes `/a?…`. */
export function withoutQuery(text: string): string {
  return text.replace(/\?[^\s"'<>]+/g, '?…')
}
