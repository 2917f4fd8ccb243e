import { forgetSealed } from '../../src/certificates/forget-sealed.ts'
import { createVault } from '../../src/certificates/vault.ts'
import { CommandError, defineCommand } from '../command.ts'
import { withDatabase } from '../open-store.ts'

export const certificateForget = defineCommand({
  options: {
    'lost-key': {
      value: null,
      text: 'yes, the master key that all certificates here are sealed with is lost, on every node and in every backup',
    },
  },
  async run(values, around) {
    const { dataDir, secretKeys: keys } = around.config
    if (!values['lost-key']) {
      throw new CommandError(
        'This deletes all certificates, the account at the CA and what signs cookies. Say --lost-key, and stop all nodes before.',
      )
    }
    const { ordered, supplied } = await withDatabase(around, async ({ pool, nowMs }) => {
      if (await createVault({ pool, keys, dataDir }).fits()) {
        throw new CommandError('The master key of this node opens all that is sealed here: nothing is lost.')
      }
      return forgetSealed(pool, nowMs)
    })
    const words = [
      `Forgotten: ${ordered.length + supplied.length} certificates. The next node that starts makes or registers a master key.`,
      ...(ordered.length > 0 ? ['Those of the CA are ordered anew, where one is named.'] : []),
      ...(supplied.length > 0 ? [`To be supplied again by their owners: ${supplied.join(', ')}.`] : []),
      'Whoever was signed in signs in again.',
    ]
    return { json: { ordered, supplied }, text: words.join('\n') }
  },
})
