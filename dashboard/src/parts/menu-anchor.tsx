import type { Ref } from 'react'

/**
 * The place of a menu whose button stands elsewhere and says itself that it opens one. Mantine gives the place such
 * attributes, too, which nothing without a role may have.
 */
export function MenuAnchor({
  ref,
  className,
}: {
  ref?: Ref<HTMLSpanElement>
  className?: string | undefined
}) {
  return <span ref={ref} className={className} />
}
