// Holds the imports to the layers (dependency-cruiser.config.mjs). A graph that is empty or next to it is a failure
// too: it means that the tool did not understand the sources, and not that they are in order.
import { cruise } from 'dependency-cruiser';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import config from '../dependency-cruiser.config.mjs';
import { root } from './workspace.mjs';

const FEWEST_MODULES = 50;
const FEWEST_DEPENDENCIES = 100;

process.chdir(root);
const { forbidden, options } = config;
const { enhancedResolveOptions, ...rest } = options;
const result = await cruise(
  ['packages', 'apps'],
  {
    ...rest,
    includeOnly: '^(packages|apps)/[^/]+/src/|node_modules',
    ruleSet: { forbidden },
    validate: true,
    outputType: 'json',
  },
  enhancedResolveOptions,
  { tsConfig: extractTSConfig(options.tsConfig.fileName) },
);
const { violations, totalCruised, totalDependenciesCruised } = JSON.parse(result.output).summary;
for (const { rule, from, to } of violations) console.error(`${rule.severity} ${rule.name}: ${from} -> ${to}`);
console.log(
  `layers: ${totalCruised} modules, ${totalDependenciesCruised} dependencies, ${violations.length} violations`,
);
const blind = totalCruised < FEWEST_MODULES || totalDependenciesCruised < FEWEST_DEPENDENCIES;
if (blind) console.error('layers: this is too few to be true; can dependency-cruiser read these sources?');
process.exitCode = blind || violations.some(({ rule }) => rule.severity === 'error') ? 1 : 0;
