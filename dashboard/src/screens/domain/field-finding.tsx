import { Text } from '@mantine/core'

/** What was found about a field while it is typed. It keeps its line, so that nothing moves. */
export function FieldFinding({
  isLooking,
  found,
}: {
  isLooking: boolean
  found: { good: boolean; words: string } | null
}) {
  return (
    <Text
      size="xs"
      role="status"
      mih="1.25rem"
      mt={-8}
      className={found?.good === false ? 'warning' : 'quiet'}
    >
      {isLooking ? 'Looking …' : (found?.words ?? '')}
    </Text>
  )
}
