// Prints, as JSON by file, what the Khronos glTF validator says: node validate.cjs VALIDATOR FILE...
const fs = require("node:fs");
const validator = require(fs.realpathSync(process.argv[2]));

async function validated(path) {
  const bytes = new Uint8Array(fs.readFileSync(path));
  const report = await validator.validateBytes(bytes, { format: "glb", maxIssues: 0, writeTimestamp: false });
  return report.issues.messages.map(({ severity, code, message, pointer, offset }) => ({
    severity: ["error", "warning", "info", "hint"][severity],
    code,
    message,
    at: pointer ?? `byte ${offset}`,
  }));
}

(async () => {
  const found = {};
  for (const path of process.argv.slice(3)) found[path] = await validated(path);
  console.log(JSON.stringify(found));
})();
